package dev.tranche.extender.ledger;

import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongUnaryOperator;

/** Terminating pods by uid, with the time at which each was first seen terminating. */
public final class TerminatingPods {
  private final Map<String, Terminating> pods = new HashMap<>();
  private final long endsWithinMs;
  private final long graceMaxMs;
  private final LongUnaryOperator toClock;

  /**
   * @param graceUntilMs when its grace period ends
   */
  private record Terminating(long sinceMs, long graceUntilMs) {}

  /**
   * @param endsWithinMs a pod that has been terminating for longer is not expected to end soon
   * @param graceMaxMs a longer grace period is not waited for
   * @param toClock converts the API server's times
   */
  TerminatingPods(long endsWithinMs, long graceMaxMs, LongUnaryOperator toClock) {
    this.endsWithinMs = endsWithinMs;
    this.graceMaxMs = graceMaxMs;
    this.toClock = toClock;
  }

  void add(PodFacts pod, long nowMs) {
    Terminating known = pods.get(pod.uid());
    long sinceMs = known == null ? nowMs : known.sinceMs();
    long graceUntilMs = toClock.applyAsLong(pod.preemption().deletionAtMs());
    pods.put(pod.uid(), new Terminating(sinceMs, Math.min(graceUntilMs, sinceMs + graceMaxMs)));
  }

  void remove(String uid) {
    pods.remove(uid);
  }

  /**
   * Returns whether the pod is terminating and expected to end soon: others need not be told yet
   * that its GPU is taken.
   */
  public boolean endsSoon(String uid, long nowMs) {
    Terminating pod = pods.get(uid);
    return pod != null && nowMs - pod.sinceMs() < endsWithinMs;
  }

  /**
   * Returns whether the pod is terminating and expected to end once its grace period is over: no
   * other pod need be evicted in its place.
   */
  public boolean ends(String uid, long nowMs) {
    Terminating pod = pods.get(uid);
    return pod != null && nowMs - Math.max(pod.sinceMs(), pod.graceUntilMs()) < endsWithinMs;
  }

  /** Returns whether a pod that ends, of those with these holds, has a GPU of the hold. */
  boolean haveGpusOf(Hold held, Collection<Hold> others, long nowMs) {
    return others.stream()
        .filter(other -> ends(other.uid(), nowMs))
        .anyMatch(other -> !Collections.disjoint(other.held().keySet(), held.held().keySet()));
  }
}
