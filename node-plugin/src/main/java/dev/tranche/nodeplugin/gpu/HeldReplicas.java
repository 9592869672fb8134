package dev.tranche.nodeplugin.gpu;

import dev.tranche.api.GpuPart;
import dev.tranche.api.ReplicaId;
import dev.tranche.api.node.Holding;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Remembers for every held replica how many replicas its GPU had when it was allocated. The id does
 * not tell, and the config may have changed since. Confined to one thread.
 */
public final class HeldReplicas {
  /**
   * How long a replica must be missing from the Lists before it counts as free. A kubelet that has
   * just started lists its pods only bit by bit.
   */
  static final long FREE_AFTER_MS = 5_000;

  private record Key(String resource, String id) {}

  private Map<Key, HeldReplica> byKey = Map.of();
  // Stays the same object until the content changes, so that a comparison is cheap.
  private List<HeldReplica> all = List.of();
  private Map<Key, Long> missingSinceMs = Map.of();
  // The holder of each replica; unknown for what an earlier run has kept.
  private Map<Key, String> holders = Map.of();
  private boolean allocatedSinceList;

  /** Restores what an earlier run has kept. */
  public void restore(Collection<HeldReplica> kept) {
    Map<Key, HeldReplica> restored = new HashMap<>();
    kept.forEach(held -> restored.put(new Key(held.resource(), held.id()), held));
    byKey = restored;
    all = List.copyOf(byKey.values());
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
    Map<Key, HeldReplica> now = new HashMap<>();
    Map<Key, String> nowHeldBy = new HashMap<>();
    for (Holding holding : holdings) {
      String holder =
          holding.getNamespace() + "/" + holding.getPod() + "/" + holding.getContainer();
      for (String id : holding.getDeviceIdsList()) {
        Key key = new Key(holding.getResource(), id);
        HeldReplica known = byKey.get(key);
        boolean same = holders.getOrDefault(key, holder).equals(holder);
        now.put(key, known != null && same ? known : newlyHeld(key, sharing));
        nowHeldBy.put(key, holder);
      }
    }
    keepMissing(now, complete, nowMs);
    holders.forEach(
        (key, holder) -> {
          if (now.containsKey(key)) {
            nowHeldBy.putIfAbsent(key, holder);
          }
        });
    holders = nowHeldBy;
    boolean changed = replace(now) || allocatedSinceList;
    allocatedSinceList = false;
    return changed;
  }

  private boolean replace(Map<Key, HeldReplica> now) {
    boolean changed = !now.equals(byKey);
    if (changed) {
      byKey = now;
      all = List.copyOf(now.values());
    }
    return changed;
  }

  private void keepMissing(Map<Key, HeldReplica> now, boolean complete, long nowMs) {
    Map<Key, Long> missing = new HashMap<>();
    byKey.forEach(
        (key, held) -> {
          long sinceMs = complete ? missingSinceMs.getOrDefault(key, nowMs) : nowMs;
          if (!now.containsKey(key) && nowMs - sinceMs < FREE_AFTER_MS) {
            missing.put(key, sinceMs);
          }
        });
    missing.keySet().forEach(key -> now.put(key, Objects.requireNonNull(byKey.get(key))));
    missingSinceMs = missing;
  }

  /**
   * Records an Allocate. The earlier holder is gone, even if the new pod has the same name. So the
   * replicas have the sharing of this Allocate.
   *
   * @param sharing by uuid
   * @return whether the held replicas changed
   */
  public boolean allocated(
      String resource, Collection<String> ids, Map<String, GpuSharing> sharing) {
    Map<Key, HeldReplica> now = new HashMap<>(byKey);
    Map<Key, String> nowHeldBy = new HashMap<>(holders);
    Map<Key, Long> missing = new HashMap<>(missingSinceMs);
    for (String id : ids) {
      Key key = new Key(resource, id);
      now.put(key, newlyHeld(key, sharing));
      nowHeldBy.remove(key);
      missing.remove(key);
    }
    holders = nowHeldBy;
    missingSinceMs = missing;
    boolean changed = replace(now);
    allocatedSinceList |= changed;
    return changed;
  }

  /**
   * Returns a GPU of which more than the whole would be held with these replicas. An id that is
   * picked again no longer counts for its earlier holder. Equal replicas never exceed their GPU, so
   * this is about replicas of different configs.
   *
   * @param sharing by uuid, under which the replicas are to be granted
   */
  public Optional<String> overfull(
      String resource, Collection<String> ids, Map<String, GpuSharing> sharing) {
    Map<Key, HeldReplica> with = new HashMap<>(byKey);
    Set<String> picked = new TreeSet<>();
    for (String id : ids) {
      Key key = new Key(resource, id);
      with.put(key, newlyHeld(key, sharing));
      picked.add(ReplicaId.uuidOf(id));
    }
    return picked.stream().filter(uuid -> part(uuid, with.values()).exceedsOneGpu()).findFirst();
  }

  private static GpuPart part(String uuid, Collection<HeldReplica> held) {
    return held.stream()
        .filter(replica -> replica.uuid().equals(uuid))
        .map(HeldReplica::part)
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
        HeldReplica replica = byKey.get(key);
        int replicas = (replica == null ? newlyHeld(key, sharing) : replica).replicasPerGpu();
        byReplicas
            .computeIfAbsent(
                replicas, r -> holding.toBuilder().clearDeviceIds().setReplicasPerGpu(r))
            .addDeviceIds(id);
      }
      byReplicas.values().forEach(part -> all.add(part.build()));
    }
    return List.copyOf(all);
  }

  public Collection<HeldReplica> all() {
    return all;
  }
}
