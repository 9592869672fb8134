package dev.tranche.extender.ledger;

import dev.tranche.extender.placement.Placement;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What one pod takes from one node.
 *
 * @param key {@code namespace/name}
 * @param placement null: the pod is on the node, but nobody has said on which GPU
 * @param exact the placement is known share by share, so that it can be sent as an assignment
 * @param replicas that the pod takes in all, wherever they are
 * @param replicasPerGpu R that its shares are counted in; 0: not known
 * @param confirmed the kubelet's read-back agrees
 * @param sinceMs when this stage began
 * @param listedFromMs an older list of the kubelet does not tell of it: it may show an earlier pod
 *     of the same name
 * @param expiresAtMs of a hold that nobody has bound yet
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
    boolean confirmed,
    long sinceMs,
    long listedFromMs,
    long expiresAtMs) {
  static final long NEVER = Long.MAX_VALUE;

  public enum Stage {
    /** On the node that we expect to win, or that another replica has asked to prepare. */
    TENTATIVE,
    /** Bind is under way; nobody knows yet whether the API server will accept it. */
    BINDING,
    /** The pod is on the node until it ends. */
    BOUND
  }

  static Hold tentative(
      String uid,
      String key,
      String node,
      String resource,
      Placement placement,
      int replicasPerGpu,
      long nowMs,
      long expiresAtMs) {
    int replicas = placement.held().values().stream().mapToInt(Integer::intValue).sum();
    return new Hold(
        uid,
        key,
        node,
        resource,
        placement,
        true,
        replicas,
        replicasPerGpu,
        Stage.TENTATIVE,
        false,
        nowMs,
        nowMs,
        expiresAtMs);
  }

  /** Replicas per uuid; empty while the place is unknown. */
  public Map<String, Integer> held() {
    return placement == null ? Map.of() : placement.held();
  }

  Hold at(Stage next, long nowMs, long expires) {
    return with(placement, exact, replicasPerGpu, next, confirmed, nowMs, nowMs, expires);
  }

  Hold placed(Placement place, boolean isExact, boolean isConfirmed) {
    return placed(place, isExact, isConfirmed, replicasPerGpu);
  }

  Hold placed(Placement place, boolean isExact, boolean isConfirmed, int countedIn) {
    return with(place, isExact, countedIn, stage, isConfirmed, sinceMs, listedFromMs, expiresAtMs);
  }

  Hold until(long expires) {
    return timed(listedFromMs, expires);
  }

  Hold listedFrom(long fromMs) {
    return timed(fromMs, expiresAtMs);
  }

  private Hold timed(long fromMs, long expires) {
    return with(placement, exact, replicasPerGpu, stage, confirmed, sinceMs, fromMs, expires);
  }

  private Hold with(
      @Nullable Placement place,
      boolean isExact,
      int countedIn,
      Stage at,
      boolean isConfirmed,
      long since,
      long listedFrom,
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
        isConfirmed,
        since,
        listedFrom,
        expires);
  }

  /** A hold that we placed ourselves knows more than an annotation, if that names the same GPUs. */
  boolean agrees(Optional<PlacementReader.Found> said) {
    if (placement == null || said.isEmpty()) {
      return placement != null;
    }
    var found = said.get().placement().held();
    return said.get().exact() ? found.equals(held()) : found.keySet().equals(held().keySet());
  }

  Assignment assignment() {
    if (placement == null) {
      throw new IllegalStateException("pod " + key + " has no GPU that could be assigned");
    }
    return new Assignment(uid, key, resource, placement, replicasPerGpu);
  }
}
