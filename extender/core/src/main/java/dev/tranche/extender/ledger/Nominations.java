package dev.tranche.extender.ledger;

import dev.tranche.extender.placement.Placement;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Pods that other pods are evicted for, by uid, with the GPUs that this frees on each node that
 * kube-scheduler may nominate. The hold on the GPU stays when its pod is filtered again.
 */
final class Nominations {
  private static final int PODS_MAX = 1_000;

  /**
   * @param places the pod's placement by node
   * @param node the node that has the hold
   * @param sinceMs when it was first planned that pods of this node are evicted
   */
  record Plan(Map<String, Placement> places, String node, long sinceMs) {}

  private final Timing timing;
  private final LinkedHashMap<String, Plan> plans = new LinkedHashMap<>();

  Nominations(Timing timing) {
    this.timing = timing;
  }

  /** Returns the pod's plan; its time is over after a limit, whatever events came since. */
  Optional<Plan> current(String uid, long nowMs) {
    Plan plan = plans.get(uid);
    if (plan != null && endMs(plan) <= nowMs) {
      plans.remove(uid);
      return Optional.empty();
    }
    return Optional.ofNullable(plan);
  }

  /** Returns when the plan's time is over. */
  long endMs(Plan plan) {
    return plan.sinceMs() + timing.nominatedMs();
  }

  /**
   * Returns when a hold expires whose pod is not nominated. That moves on while kube-scheduler
   * retries the pod, but not beyond the plan's end.
   */
  long expiryMs(Plan plan, long nowMs) {
    return Math.min(endMs(plan), nowMs + timing.tentativeMs());
  }

  /**
   * @return the pod whose plan was removed because of the limit
   */
  Optional<String> put(String uid, Plan plan) {
    plans.remove(uid);
    plans.put(uid, plan);
    if (plans.size() <= PODS_MAX) {
      return Optional.empty();
    }
    Iterator<String> oldest = plans.keySet().iterator();
    String evicted = oldest.next();
    oldest.remove();
    return Optional.of(evicted);
  }

  void remove(String uid) {
    plans.remove(uid);
  }

  boolean has(String uid) {
    return plans.containsKey(uid);
  }

  Set<String> uids() {
    return plans.keySet();
  }
}
