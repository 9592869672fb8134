package dev.tranche.nodeplugin.gpu;

import static java.util.stream.Collectors.toMap;

import dev.tranche.api.GpuPart;
import dev.tranche.api.ReplicaId;
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
import java.util.function.Predicate;

/**
 * All replicas of this node, resource by resource.
 *
 * <p>If the config changes while containers hold replicas, a GPU has replicas of both configs for a
 * while. A held replica of the earlier config stays until it is free, so that its container keeps
 * it and kube-scheduler's count is right. It is never preferred or allocated again. Only as many
 * new replicas are offered as fit beside the held ones: the kubelet counts ids, but the GPU is what
 * is scarce.
 *
 * @param sharing of every GPU, by uuid
 */
public record NodeReplicas(
    Config config, Map<String, GpuSharing> sharing, List<Replicas> byResource) {
  /**
   * Creates the replicas.
   *
   * @param sharing of every GPU, by uuid
   * @param held replicas that containers hold now; one that several pods hold, for each of them
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
    List<Replicas> byResource =
        resources.stream().map(name -> replicas(config, name, gpus, sharing, ofOurs)).toList();
    return new NodeReplicas(config, sharing, byResource);
  }

  private static Replicas replicas(
      Config config,
      String resource,
      List<GpuStatus> gpus,
      Map<String, GpuSharing> sharing,
      List<HeldReplica> held) {
    List<Replica> all = new ArrayList<>();
    Map<String, GpuSharing> ownSharing = new HashMap<>();
    for (GpuStatus gpu : gpus) {
      String uuid = gpu.info().uuid();
      List<HeldReplica> here = held.stream().filter(h -> h.uuid().equals(uuid)).toList();
      GpuSharing how = sharing.getOrDefault(uuid, GpuSharing.unshared(""));
      if (how.resource().equals(resource)) {
        ownSharing.put(uuid, how);
        all.addAll(currentReplicas(gpu, how, here));
      }
      all.addAll(retired(gpu, how, resource, here));
    }
    return new Replicas(config, resource, ownSharing, all);
  }

  /**
   * Creates the R replicas of the current config. Ids that are held as replicas of an earlier
   * config are skipped. Otherwise the kubelet would give such an id, once it is free, as another
   * part of the GPU; and while it is in use, nobody would get the room beside it.
   */
  private static List<Replica> currentReplicas(
      GpuStatus gpu, GpuSharing how, List<HeldReplica> held) {
    Set<String> own = new HashSet<>();
    Set<String> taken = new HashSet<>();
    GpuPart earlier = GpuPart.NONE;
    for (HeldReplica replica : held) {
      boolean current = replica.grantedUnder(how);
      earlier = current ? earlier : earlier.plus(replica.part());
      if (replica.resource().equals(how.resource())) {
        (current ? own : taken).add(replica.id());
      }
    }
    int freeReplicas = how.replicas() - earlier.replicas(how.replicas()) - own.size();
    List<Replica> replicas = new ArrayList<>();
    for (String id : ids(gpu.info().uuid(), how, own, taken)) {
      boolean offered = own.contains(id) || freeReplicas-- > 0;
      replicas.add(replica(id, gpu, offered ? Stage.OFFERED : Stage.WITHHELD));
    }
    return replicas;
  }

  /**
   * Returns R ids of a GPU: those that are held under this sharing, and the lowest ones that are
   * not taken.
   *
   * @param own held under this sharing
   * @param taken held under an earlier one
   */
  static List<String> ids(String uuid, GpuSharing how, Set<String> own, Set<String> taken) {
    if (!how.shared()) {
      return List.of(uuid);
    }
    List<String> ids = new ArrayList<>(own);
    for (int k = 0; ids.size() < how.replicas(); k++) {
      String id = ReplicaId.of(uuid, k);
      if (!own.contains(id) && !taken.contains(id)) {
        ids.add(id);
      }
    }
    ids.sort(ReplicaId.BY_ORDINAL);
    return ids;
  }

  private static List<Replica> retired(
      GpuStatus gpu, GpuSharing how, String resource, List<HeldReplica> held) {
    return held.stream()
        .filter(h -> h.resource().equals(resource) && !h.grantedUnder(how))
        .map(HeldReplica::id)
        .distinct()
        .sorted()
        .map(id -> replica(id, gpu, Stage.RETIRED))
        .toList();
  }

  private static Replica replica(String id, GpuStatus gpu, Stage stage) {
    return new Replica(id, gpu.info(), gpu.health().healthy(), stage);
  }

  /** Returns a copy in which every GPU that is not among these is unhealthy. */
  public NodeReplicas healthyOnly(Set<String> uuids) {
    if (uuids.containsAll(sharing.keySet())) {
      return this;
    }
    return new NodeReplicas(
        config, sharing, byResource.stream().map(r -> r.healthyOnly(uuids)).toList());
  }

  /** Returns how many replicas are withheld, by the uuid of their GPU. */
  public Map<String, Integer> withheld() {
    return byResource.stream()
        .flatMap(r -> r.all().stream())
        .filter(r -> r.stage() == Stage.WITHHELD)
        .collect(toMap(r -> r.gpu().uuid(), r -> 1, Integer::sum));
  }

  public int count(Predicate<Replica> which) {
    return (int) byResource.stream().flatMap(r -> r.all().stream()).filter(which).count();
  }
}
