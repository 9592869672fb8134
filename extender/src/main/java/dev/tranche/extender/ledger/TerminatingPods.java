package dev.tranche.extender.ledger;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Terminating pods by uid, with the time at which each was first seen terminating. */
public final class TerminatingPods {
  private final Map<String, Long> sinceMs = new HashMap<>();
  private final long endsWithinMs;

  /**
   * @param endsWithinMs a pod that has been terminating for longer is not expected to end soon
   */
  TerminatingPods(long endsWithinMs) {
    this.endsWithinMs = endsWithinMs;
  }

  void add(String uid, long nowMs) {
    sinceMs.putIfAbsent(uid, nowMs);
  }

  void remove(String uid) {
    sinceMs.remove(uid);
  }

  /** Returns whether the pod is terminating and expected to end soon. */
  public boolean endsSoon(String uid, long nowMs) {
    Long since = sinceMs.get(uid);
    return since != null && nowMs - since < endsWithinMs;
  }

  /** Returns the uids of all such pods. */
  public Set<String> endingSoon(long nowMs) {
    return sinceMs.keySet().stream()
        .filter(uid -> endsSoon(uid, nowMs))
        .collect(Collectors.toUnmodifiableSet());
  }
}
