package dev.tranche.extender.ledger;

import dev.tranche.extender.ledger.PlacementReader.Found;
import dev.tranche.extender.placement.Placement;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The replicas that one pod holds on one node.
 *
 * @param key {@code namespace/name}
 * @param placement null if the pod is on the node, but its GPU is not known
 * @param exact whether the placement is known share by share, so that it can be sent as an
 *     assignment
 * @param replicas total number that the pod holds, on whichever GPUs they are
 * @param replicasPerGpu the R that its shares are counted in; 0 if not known
 * @param sinceMs when this stage began
 * @param listsCountFromMs kubelet lists older than this are ignored, since they may show an earlier
 *     pod of the same name
 * @param expiresAtMs when the hold is dropped, or checked if it may be bound; {@code NEVER} while
 *     the binding is under way, and once a watch has shown the pod on its node
 */
public record Hold(
    String uid,
    String key,
    String node,
    String resource,
    @Nullable Placement placement,
    boolean exact,
    int replicas,
    int replicasPerGpu,
    Stage stage,
    long sinceMs,
    long listsCountFromMs,
    long expiresAtMs) {
  static final long NEVER = Long.MAX_VALUE;

  public enum Stage {
    /**
     * On the node that kube-scheduler will probably choose, or that another extender replica has
     * sent the assignment to.
     */
    TENTATIVE,
    /** The binding is under way; it is not known yet whether the API server will accept it. */
    BINDING,
    /** The pod is on the node until it ends. */
    BOUND,
    /** Bound, and the kubelet's read-back agrees. */
    CONFIRMED;

    /** Returns it as the API names it. */
    @Override
    public String toString() {
      return CamelCase.of(this);
    }
  }

  static Hold tentative(Assignment of, String node, long nowMs, long expiresAtMs) {
    return new Hold(
        of.uid(),
        of.key(),
        node,
        of.resource(),
        of.placement(),
        true,
        of.placement().held().values().stream().mapToInt(Integer::intValue).sum(),
        of.replicasPerGpu(),
        Stage.TENTATIVE,
        nowMs,
        nowMs,
        expiresAtMs);
  }

  public boolean isTentative() {
    return stage == Stage.TENTATIVE;
  }

  /** Returns whether the API server has bound the pod. */
  public boolean isBound() {
    return stage.compareTo(Stage.BOUND) >= 0;
  }

  public boolean confirmed() {
    return stage == Stage.CONFIRMED;
  }

  /** Returns the namespace of its pod. */
  public String namespace() {
    return key.substring(0, key.indexOf('/'));
  }

  /** Returns the replicas per uuid; empty while the placement is not known. */
  public Map<String, Integer> held() {
    return placement == null ? Map.of() : placement.held();
  }

  /**
   * Returns how many of the pod's containers are on a GPU. If they are not known, each replica may
   * be another container's.
   */
  public int clients(String uuid) {
    int replicas = held().getOrDefault(uuid, 0);
    return placement == null || placement.containers().isEmpty() || replicas == 0
        ? replicas
        : placement.clients(uuid);
  }

  Hold at(Stage next, long nowMs, long expires) {
    return with(placement, exact, replicasPerGpu, next, nowMs, nowMs, expires);
  }

  Hold placed(Placement place, boolean isExact, Stage at, int countedIn) {
    return with(place, isExact, countedIn, at, sinceMs, listsCountFromMs, expiresAtMs);
  }

  Hold until(long expires) {
    return with(placement, exact, replicasPerGpu, stage, sinceMs, listsCountFromMs, expires);
  }

  Hold withListsCountFromMs(long fromMs) {
    return with(placement, exact, replicasPerGpu, stage, sinceMs, fromMs, expiresAtMs);
  }

  private Hold with(
      @Nullable Placement place,
      boolean isExact,
      int countedIn,
      Stage at,
      long since,
      long listsCountFrom,
      long expires) {
    return new Hold(
        uid,
        key,
        node,
        resource,
        place,
        isExact,
        replicas,
        countedIn,
        at,
        since,
        listsCountFrom,
        expires);
  }

  /**
   * Returns whether the hold keeps its placement. Our own placement is more precise than an
   * annotation that names the same GPUs.
   */
  boolean agreesWith(Optional<Found> claimed) {
    if (placement == null || claimed.isEmpty()) {
      return placement != null;
    }
    var found = claimed.get().placement().held();
    return claimed.get().exact() ? found.equals(held()) : found.keySet().equals(held().keySet());
  }

  /**
   * @param memoryLimits in bytes, by container
   */
  Assignment assignment(Map<String, Long> memoryLimits) {
    if (placement == null) {
      throw new IllegalStateException("pod " + key + " has no GPU that could be assigned");
    }
    return new Assignment(uid, key, resource, placement, replicasPerGpu, memoryLimits);
  }

  /**
   * Returns the time from which a bound pod's lists count. The node's last list may have a pod that
   * already ran when we first saw it.
   *
   * @param before the hold so far
   */
  static long listsCountFromMs(@Nullable Hold before, PodFacts pod, long nowMs) {
    if (before != null && before.isBound()) {
      return before.listsCountFromMs();
    }
    return nowMs - (before == null && pod.running() ? NodeEntry.KUBELET_LATE_MS : 0);
  }

  /**
   * Returns when a bound pod's hold began. A pod that already ran when we first saw it is already
   * in its GPU's mean load.
   *
   * @param before the hold so far
   */
  static long since(@Nullable Hold before, PodFacts pod, long nowMs, long newcomerMs) {
    if (before != null && before.isBound()) {
      return before.sinceMs();
    }
    return before == null && pod.running() ? nowMs - newcomerMs - 1 : nowMs;
  }
}
