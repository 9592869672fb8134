package dev.tranche.nodeplugin.gpu;

import static java.util.stream.Collectors.toSet;

import dev.tranche.api.GpuPart;
import dev.tranche.api.ReplicaId;
import dev.tranche.api.node.Holding;
import dev.tranche.nodeplugin.usage.ContainerName;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Remembers for every held replica how many replicas its GPU had when it was allocated. The id does
 * not tell, and the config may have changed since. Also remembers how many pods hold it: a defect
 * of kubelets gives one replica to two (kubernetes/kubernetes#137534). Confined to one thread.
 */
public final class HeldReplicas {
  /**
   * How long a replica must be missing from the Lists before it counts as free. A kubelet that has
   * just started lists its pods only bit by bit.
   */
  static final long FREE_AFTER_MS = 5_000;

  private record Key(String resource, String id) {}

  private record Held(HeldReplica replica, int pods) {
    GpuPart part() {
      return GpuPart.of(pods, replica.replicasPerGpu());
    }
  }

  private Map<Key, Held> byKey = Map.of();
  // Stays the same object until the content changes, so that a comparison is cheap.
  private List<HeldReplica> all = List.of();
  // Since when the Lists have shown fewer pods with a replica than are counted.
  private Map<Key, Long> fewerSinceMs = new HashMap<>();
  // The containers that hold each replica; unknown for what an earlier run has kept.
  private Map<Key, Set<ContainerName>> holders = new HashMap<>();
  private boolean allocatedSinceList;

  /** Restores what an earlier run has kept. */
  public void restore(Collection<HeldReplica> kept) {
    Map<Key, Held> restored = new HashMap<>();
    for (HeldReplica held : kept) {
      restored.merge(
          new Key(held.resource(), held.id()),
          new Held(held, 1),
          (first, again) -> new Held(first.replica(), first.pods() + 1));
    }
    replace(restored);
  }

  /**
   * Records a List. A replica that is seen for the first time has the current sharing. So has a
   * replica that another container got while it was missing.
   *
   * @param complete whether the List shows pods of the API server; a kubelet that started without
   *     the API server shows none, and its List frees nothing
   * @param sharing by uuid
   * @param nowMs of a monotonic clock
   * @return whether the held replicas changed since the last List, be it by an Allocate
   */
  public boolean update(
      List<Holding> holdings, boolean complete, Map<String, GpuSharing> sharing, long nowMs) {
    Map<Key, Set<ContainerName>> listed = holders(holdings);
    Map<Key, Held> now = new HashMap<>();
    listed.forEach((key, by) -> now.put(key, new Held(replica(key, by, sharing), pods(by))));
    keepMissing(now, pods(holdings), complete, nowMs);
    holders.keySet().retainAll(now.keySet());
    holders.forEach(listed::putIfAbsent);
    holders = listed;
    boolean changed = replace(now) || allocatedSinceList;
    allocatedSinceList = false;
    return changed;
  }

  private static Map<Key, Set<ContainerName>> holders(List<Holding> holdings) {
    Map<Key, Set<ContainerName>> holders = new HashMap<>();
    for (Holding holding : holdings) {
      var container = ContainerName.of(holding);
      for (String id : holding.getDeviceIdsList()) {
        holders
            .computeIfAbsent(new Key(holding.getResource(), id), first -> new HashSet<>())
            .add(container);
      }
    }
    return holders;
  }

  /** Counts the pods of these containers: containers of one pod may share a replica. */
  private static int pods(Set<ContainerName> holders) {
    return (int) holders.stream().map(ContainerName::pod).distinct().count();
  }

  private HeldReplica replica(Key key, Set<ContainerName> by, Map<String, GpuSharing> sharing) {
    Held known = byKey.get(key);
    boolean same = !Collections.disjoint(holders.getOrDefault(key, by), by);
    return known != null && same ? known.replica() : newlyHeld(key, sharing);
  }

  private boolean replace(Map<Key, Held> now) {
    boolean changed = !now.equals(byKey);
    if (changed) {
      byKey = now;
      all =
          now.values().stream()
              .flatMap(held -> Collections.nCopies(held.pods(), held.replica()).stream())
              .toList();
    }
    return changed;
  }

  private static Set<String> pods(List<Holding> holdings) {
    return holdings.stream().map(h -> ContainerName.of(h).pod().toString()).collect(toSet());
  }

  /** What an init container has left is its pod's for as long as the List shows the pod. */
  private void keepMissing(
      Map<Key, Held> now, Set<String> listedPods, boolean complete, long nowMs) {
    Map<Key, Long> fewer = new HashMap<>();
    byKey.forEach(
        (key, held) -> {
          Held listed = now.get(key);
          boolean left = listed == null && listedPods.contains(held.replica().podOfInit());
          long sinceMs = complete && !left ? fewerSinceMs.getOrDefault(key, nowMs) : nowMs;
          boolean less = listed == null || listed.pods() < held.pods();
          if (less && nowMs - sinceMs < FREE_AFTER_MS) {
            fewer.put(key, sinceMs);
          }
        });
    for (Key key : fewer.keySet()) {
      now.merge(
          key,
          Objects.requireNonNull(byKey.get(key)),
          (listed, before) -> new Held(listed.replica(), before.pods()));
    }
    fewerSinceMs = fewer;
  }

  /**
   * Records an Allocate. The earlier holder is gone, even if the new pod has the same name. So the
   * replicas have the sharing of this Allocate. If the kubelet is wrong about that, the next List
   * shows both.
   *
   * @param from the replicas that the kubelet has picked from
   * @param podOfInit {@code namespace/name}, if it was for an ordinary init container; else empty
   * @param memoryLimit what the pod says about it
   */
  public void allocated(
      Replicas from, Collection<String> ids, String podOfInit, OptionalLong memoryLimit) {
    Map<Key, Held> now = new HashMap<>(byKey);
    for (String id : ids) {
      Key key = new Key(from.resource(), id);
      int replicasPerGpu = newlyHeld(key, from.sharing()).replicasPerGpu();
      var replica = new HeldReplica(from.resource(), id, replicasPerGpu, podOfInit, memoryLimit);
      now.put(key, new Held(replica, 1));
      holders.remove(key);
      fewerSinceMs.remove(key);
    }
    allocatedSinceList |= replace(now);
  }

  /**
   * Returns a GPU of which more than the whole would be held with these replicas. An id that is
   * picked again no longer counts for its earlier holder. Equal replicas of one pod each never
   * exceed their GPU, so this is about replicas of different configs, and of two pods.
   *
   * @param from the replicas that the kubelet has picked from
   * @param assigned whether the extender chose the GPU. It counts the pods of a replica by itself,
   *     and knows at once when one ends.
   */
  public Optional<String> overfull(Replicas from, Collection<String> ids, boolean assigned) {
    Map<Key, Held> with = new HashMap<>(byKey);
    Set<String> picked = new TreeSet<>();
    for (String id : ids) {
      Key key = new Key(from.resource(), id);
      with.put(key, new Held(newlyHeld(key, from.sharing()), 1));
      picked.add(ReplicaId.uuidOf(id));
    }
    return picked.stream()
        .filter(
            uuid -> part(uuid, with.values(), from.sharing().get(uuid), assigned).exceedsOneGpu())
        .findFirst();
  }

  private static GpuPart part(
      String uuid, Collection<Held> held, @Nullable GpuSharing how, boolean assigned) {
    return held.stream()
        .filter(of -> of.replica().uuid().equals(uuid))
        .map(of -> assigned && of.replica().grantedUnder(how) ? of.replica().part() : of.part())
        .reduce(GpuPart.NONE, GpuPart::plus);
  }

  // The id of a whole GPU shows that it is whole. For a shared one, the number of replicas is known
  // only from the current sharing, if that shares the GPU.
  private static HeldReplica newlyHeld(Key key, Map<String, GpuSharing> sharing) {
    String uuid = ReplicaId.uuidOf(key.id());
    GpuSharing how = sharing.get(uuid);
    boolean wholeGpu = key.id().equals(uuid);
    return new HeldReplica(key.resource(), key.id(), wholeGpu || how == null ? 1 : how.replicas());
  }

  /**
   * Returns the holdings with the R of their devices: a container has one entry for each R. R is
   * that of the current sharing for devices that are not recorded yet.
   *
   * @param sharing by uuid
   */
  public List<Holding> byReplicas(List<Holding> holdings, Map<String, GpuSharing> sharing) {
    List<Holding> all = new ArrayList<>(holdings.size());
    for (Holding holding : holdings) {
      Map<Integer, Holding.Builder> byReplicas = new TreeMap<>();
      for (String id : holding.getDeviceIdsList()) {
        Key key = new Key(holding.getResource(), id);
        Held held = byKey.get(key);
        HeldReplica replica = held == null ? newlyHeld(key, sharing) : held.replica();
        byReplicas
            .computeIfAbsent(
                replica.replicasPerGpu(),
                r -> holding.toBuilder().clearDeviceIds().setReplicasPerGpu(r))
            .addDeviceIds(id);
      }
      byReplicas.values().forEach(part -> all.add(part.build()));
    }
    return List.copyOf(all);
  }

  /**
   * Returns what init containers have left to their pods, which Lists leave out, with its R and
   * without a container's name.
   *
   * @param holdings the last List
   */
  public List<Holding> leftByInits(List<Holding> holdings) {
    Set<String> listedPods = pods(holdings);
    Map<Holding, SortedSet<String>> left = new LinkedHashMap<>();
    for (Map.Entry<Key, Held> of : byKey.entrySet()) {
      HeldReplica replica = of.getValue().replica();
      if (!holders.containsKey(of.getKey()) && listedPods.contains(replica.podOfInit())) {
        int slash = replica.podOfInit().indexOf('/');
        Holding pod =
            Holding.newBuilder()
                .setNamespace(replica.podOfInit().substring(0, slash))
                .setPod(replica.podOfInit().substring(slash + 1))
                .setResource(replica.resource())
                .setReplicasPerGpu(replica.replicasPerGpu())
                .build();
        left.computeIfAbsent(pod, first -> new TreeSet<>()).add(replica.id());
      }
    }
    return left.entrySet().stream()
        .map(of -> of.getKey().toBuilder().addAllDeviceIds(of.getValue()).build())
        .sorted(Comparator.comparing(Holding::getNamespace).thenComparing(Holding::getPod))
        .toList();
  }

  /** Returns what the pod of these devices says about its memory limit, in bytes. */
  public OptionalLong memoryLimit(Holding holding) {
    return holding.getDeviceIdsList().stream()
        .flatMap(id -> Optional.ofNullable(byKey.get(new Key(holding.getResource(), id))).stream())
        .map(held -> held.replica().memoryLimit())
        .findFirst()
        .orElse(OptionalLong.empty());
  }

  /** Returns the held replicas; one that several pods hold is there for each of them. */
  public Collection<HeldReplica> all() {
    return all;
  }

  /** Returns how many replicas more than one pod holds. */
  public int duplicates() {
    return (int) byKey.values().stream().filter(held -> held.pods() > 1).count();
  }

  /**
   * Returns, by uuid, how many replicas of the current config are held beyond those that have ids.
   * As many free ids of the GPU are not free in truth.
   */
  public Map<String, Integer> duplicates(Replicas current) {
    Map<String, Integer> byUuid = new HashMap<>();
    for (Held held : byKey.values()) {
      HeldReplica replica = held.replica();
      if (held.pods() > 1 && replica.grantedUnder(current.sharing().get(replica.uuid()))) {
        byUuid.merge(replica.uuid(), held.pods() - 1, Integer::sum);
      }
    }
    return byUuid;
  }
}
