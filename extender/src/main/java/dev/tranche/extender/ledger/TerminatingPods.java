package dev.tranche.extender.ledger;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Pods that terminate, and since when, by uid. */
public final class TerminatingPods {
  private final Map<String, Long> sinceMs = new HashMap<>();
  private final long soonMs;

  /**
   * @param soonMs one that terminates for longer is not expected to end before long
   */
  TerminatingPods(long soonMs) {
    this.soonMs = soonMs;
  }

  void seen(String uid, long nowMs) {
    sinceMs.putIfAbsent(uid, nowMs);
  }

  void ended(String uid) {
    sinceMs.remove(uid);
  }

  /** Whether the pod terminates, and may be expected to end before long. */
  public boolean soon(String uid, long nowMs) {
    Long since = sinceMs.get(uid);
    return since != null && nowMs - since < soonMs;
  }

  /** Uids of all such pods. */
  public Set<String> soon(long nowMs) {
    return sinceMs.keySet().stream()
        .filter(uid -> soon(uid, nowMs))
        .collect(Collectors.toUnmodifiableSet());
  }
}
