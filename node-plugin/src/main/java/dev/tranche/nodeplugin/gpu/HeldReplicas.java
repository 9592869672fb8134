package dev.tranche.nodeplugin.gpu;

import dev.tranche.api.ReplicaId;
import dev.tranche.api.node.Holding;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Remembers of every held replica how many its GPU had when it was given: the id does not say, and
 * the config may have changed since. Confined to one thread.
 */
public final class HeldReplicas {
  /**
   * For so long a replica must be missing from the Lists before it counts as free: a kubelet that
   * has just started lists its pods only bit by bit.
   */
  static final long FREE_AFTER_MS = 5_000;

  private record Key(String resource, String id) {}

  private Map<Key, HeldReplica> byKey = Map.of();
  // The same object until it changes, which makes it cheap to see that it has not.
  private List<HeldReplica> all = List.of();
  private Map<Key, Long> missingSinceMs = Map.of();
  // Unknown of what an earlier run has kept.
  private Map<Key, String> holders = Map.of();

  /** What an earlier run has kept. */
  public void restore(Collection<HeldReplica> kept) {
    Map<Key, HeldReplica> restored = new HashMap<>();
    kept.forEach(held -> restored.put(new Key(held.resource(), held.id()), held));
    byKey = restored;
    all = List.copyOf(byKey.values());
  }

  /**
   * Takes note of a List; a replica seen for the first time is of the sharing in use, and so is one
   * that another container has got within the time that it was missing.
   *
   * @param complete whether the List shows pods of the API server; one of a kubelet that has
   *     started without it shows none, and frees nothing
   * @param sharing by uuid
   * @param nowMs of a clock that only rises
   * @return whether anything is new
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
        now.put(key, known != null && same ? known : seen(key, sharing));
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
    return replace(now);
  }

  private boolean replace(Map<Key, HeldReplica> now) {
    boolean news = !now.equals(byKey);
    if (news) {
      byKey = now;
      all = List.copyOf(now.values());
    }
    return news;
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
   * An Allocate has given these replicas. Whoever held them before has gone, even if a pod of the
   * same name follows: they are of the sharing that they were given under.
   *
   * @param sharing by uuid
   * @return whether anything is new
   */
  public boolean allocated(
      String resource, Collection<String> ids, Map<String, GpuSharing> sharing) {
    Map<Key, HeldReplica> now = new HashMap<>(byKey);
    Map<Key, String> nowHeldBy = new HashMap<>(holders);
    Map<Key, Long> missing = new HashMap<>(missingSinceMs);
    for (String id : ids) {
      Key key = new Key(resource, id);
      now.put(key, seen(key, sharing));
      nowHeldBy.remove(key);
      missing.remove(key);
    }
    holders = nowHeldBy;
    missingSinceMs = missing;
    return replace(now);
  }

  // A whole GPU's id says so itself. Of how many a shared one is can only be told from the sharing
  // in use, if that shares.
  private static HeldReplica seen(Key key, Map<String, GpuSharing> sharing) {
    String uuid = ReplicaId.uuidOf(key.id());
    GpuSharing how = sharing.get(uuid);
    boolean whole = key.id().equals(uuid);
    return new HeldReplica(key.resource(), key.id(), whole || how == null ? 1 : how.replicas());
  }

  public Collection<HeldReplica> all() {
    return all;
  }
}
