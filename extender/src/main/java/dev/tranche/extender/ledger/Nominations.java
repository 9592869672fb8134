package dev.tranche.extender.ledger;

import dev.tranche.extender.placement.Placement;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Pods that other pods are evicted for, by uid, with the GPUs that this frees on each node that
 * kube-scheduler may nominate. The hold on the GPU stays when its pod is filtered again.
 */
final class Nominations {
  private static final int PODS_MAX = 1_000;

  /**
   * @param places the pod's placement by node
   * @param node the node that has the hold
   */
  record Plan(Map<String, Placement> places, String node) {
    Plan {
      places = Map.copyOf(places);
    }
  }

  private final LinkedHashMap<String, Plan> plans = new LinkedHashMap<>();

  Optional<Plan> get(String uid) {
    return Optional.ofNullable(plans.get(uid));
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

  int size() {
    return plans.size();
  }
}
