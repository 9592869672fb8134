package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.gpu.Replica.Stage;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * All replicas of this node, resource by resource.
 *
 * <p>When the config changes while containers hold replicas, two kinds of them share a GPU for a
 * while. A held one that the config makes no more stays until it is free, so that its container
 * keeps it and kube-scheduler's sum comes out even; it is never preferred or allocated again. And
 * of the new ones only as many are offered as fit into what the old ones leave of the GPU: the
 * kubelet counts ids, but what is scarce is the GPU.
 *
 * @param sharing of every GPU, by uuid
 */
public record NodeReplicas(
    Config config,
    List<GpuStatus> gpus,
    Map<String, GpuSharing> sharing,
    List<Replicas> byResource) {
  // Sums of fractions such as 1/3 miss a whole by less than this, and no share is as small.
  private static final double ROUNDING = 1e-9;

  public NodeReplicas {
    gpus = List.copyOf(gpus);
    sharing = Map.copyOf(sharing);
    byResource = List.copyOf(byResource);
  }

  /**
   * Makes them.
   *
   * @param sharing of every GPU, by uuid
   * @param held by containers now
   */
  public static NodeReplicas of(
      Config config,
      List<GpuStatus> gpus,
      Map<String, GpuSharing> sharing,
      Collection<HeldReplica> held) {
    Set<String> resources = new TreeSet<>();
    sharing.values().forEach(how -> resources.add(how.resource()));
    List<HeldReplica> ofOurs = held.stream().filter(h -> sharing.containsKey(h.uuid())).toList();
    ofOurs.forEach(h -> resources.add(h.resource()));
    List<Replicas> made =
        resources.stream().map(name -> replicas(config, name, gpus, sharing, ofOurs)).toList();
    return new NodeReplicas(config, gpus, sharing, made);
  }

  private static Replicas replicas(
      Config config,
      String resource,
      List<GpuStatus> gpus,
      Map<String, GpuSharing> sharing,
      List<HeldReplica> held) {
    List<Replica> all = new ArrayList<>();
    List<GpuStatus> own = new ArrayList<>();
    for (GpuStatus gpu : gpus) {
      String uuid = gpu.info().uuid();
      List<HeldReplica> here = held.stream().filter(h -> h.uuid().equals(uuid)).toList();
      GpuSharing how = sharing.getOrDefault(uuid, GpuSharing.whole(""));
      if (how.resource().equals(resource)) {
        own.add(gpu);
        all.addAll(made(gpu, how, here));
      }
      all.addAll(retired(gpu, how, resource, here));
    }
    return new Replicas(config, resource, own, ofGpus(own, sharing), all);
  }

  private static Map<String, GpuSharing> ofGpus(
      List<GpuStatus> gpus, Map<String, GpuSharing> sharing) {
    Set<String> uuids = new HashSet<>();
    gpus.forEach(gpu -> uuids.add(gpu.info().uuid()));
    Map<String, GpuSharing> of = new HashMap<>(sharing);
    of.keySet().retainAll(uuids);
    return of;
  }

  private static List<Replica> made(GpuStatus gpu, GpuSharing how, List<HeldReplica> held) {
    Set<String> own = new HashSet<>();
    held.stream().filter(h -> h.resource().equals(how.resource())).forEach(h -> own.add(h.id()));
    double used = held.stream().mapToDouble(HeldReplica::share).sum();
    int room = (int) Math.floor((1 - used) * how.replicas() + ROUNDING);
    List<Replica> made = new ArrayList<>();
    for (String id : ReplicaIds.of(gpu.info().uuid(), how)) {
      boolean offered = own.contains(id) || room-- > 0;
      made.add(new Replica(id, gpu, how.shared(), offered ? Stage.OFFERED : Stage.WITHHELD));
    }
    return made;
  }

  private static List<Replica> retired(
      GpuStatus gpu, GpuSharing how, String resource, List<HeldReplica> held) {
    return held.stream()
        .filter(h -> h.resource().equals(resource))
        .filter(h -> !resource.equals(how.resource()) || !ReplicaIds.makes(how, h.id()))
        .map(HeldReplica::id)
        .sorted()
        .map(id -> new Replica(id, gpu, !id.equals(gpu.info().uuid()), Stage.RETIRED))
        .toList();
  }

  /** The same, but with every GPU unhealthy that is not among these. */
  public NodeReplicas healthyOnly(Set<String> uuids, String reason) {
    if (gpus.stream().allMatch(gpu -> uuids.contains(gpu.info().uuid()))) {
      return this;
    }
    UnaryOperator<GpuStatus> mark =
        gpu ->
            uuids.contains(gpu.info().uuid())
                ? gpu
                : new GpuStatus(gpu.info(), gpu.health().silent(reason), gpu.load(), gpu.uses());
    return new NodeReplicas(
        config,
        gpus.stream().map(mark).toList(),
        sharing,
        byResource.stream().map(r -> r.with(mark)).toList());
  }

  /** Replicas of one GPU that cannot be given. */
  public int withheld(String uuid) {
    return (int)
        byResource.stream()
            .flatMap(r -> r.all().stream())
            .filter(r -> r.stage() == Stage.WITHHELD && r.gpu().info().uuid().equals(uuid))
            .count();
  }

  public int count(Stage stage) {
    return byResource.stream().mapToInt(r -> r.count(stage)).sum();
  }

  public int healthyCount() {
    return byResource.stream().mapToInt(Replicas::healthyCount).sum();
  }

  /** Whether an id that the kubelet tells as held is of these GPUs, now or before. */
  public boolean concerns(String uuid) {
    return sharing.containsKey(uuid);
  }

  public Stream<String> resources() {
    return byResource.stream().map(Replicas::resource);
  }
}
