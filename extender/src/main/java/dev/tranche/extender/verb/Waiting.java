package dev.tranche.extender.verb;

import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.score.Policy;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/**
 * Pods that filter has rejected, and the nodes whose room has grown since. kube-scheduler tries a
 * rejected pod again when something in the cluster changes, but a load that eases changes nothing
 * there, so once a pod would fit on a node that refused it, that node is named for a patch.
 */
public final class Waiting {
  static final int PODS_MAX = 1_000;
  static final long BETWEEN_MS = 1_000;

  /** Fits tried per turn; the rest waits for the next one. */
  static final int TRIES_MAX = 5_000;

  private final Fleet fleet;
  private final ExtenderMetrics metrics;
  private final Map<String, Rejected> pods = new LinkedHashMap<>();
  private final Set<String> changed = new LinkedHashSet<>();
  private long lastMs = Long.MIN_VALUE / 2;

  /**
   * @param nodes that refused it, sorted
   */
  private record Rejected(PodFacts pod, List<String> nodes) {
    boolean refusedBy(String node) {
      return Collections.binarySearch(nodes, node) >= 0;
    }
  }

  public Waiting(Fleet fleet, ExtenderMetrics metrics) {
    this.fleet = fleet;
    this.metrics = metrics;
  }

  void rejected(PodFacts pod, List<Evaluation> evaluations) {
    pods.remove(pod.uid());
    if (pods.size() >= PODS_MAX) {
      Iterator<String> oldest = pods.keySet().iterator();
      oldest.next();
      oldest.remove();
      metrics.waitingEvicted();
    }
    List<String> nodes = evaluations.stream().map(Evaluation::node).sorted().toList();
    pods.put(pod.uid(), new Rejected(pod, nodes));
  }

  public void forget(String uid) {
    pods.remove(uid);
  }

  /** A pod could fit on the node that did not before. */
  public void changed(String node) {
    if (!pods.isEmpty()) {
      changed.add(node);
    }
  }

  public int size() {
    return pods.size();
  }

  /** A node that a rejected pod would fit on now; at most one a second. */
  Optional<String> wake(Function<PodFacts, Policy> policyOf, long nowMs) {
    if (changed.isEmpty() || nowMs - lastMs < BETWEEN_MS) {
      return Optional.empty();
    }
    int tries = 0;
    for (Iterator<String> nodes = changed.iterator(); nodes.hasNext() && tries < TRIES_MAX; ) {
      String node = nodes.next();
      nodes.remove();
      tries += pods.size();
      // Any node's change wakes all rejected pods, so those that fit here need no second call.
      if (pods.values().removeIf(p -> p.refusedBy(node) && fits(p.pod(), node, policyOf, nowMs))) {
        lastMs = nowMs;
        return Optional.of(node);
      }
    }
    return Optional.empty();
  }

  private boolean fits(PodFacts pod, String node, Function<PodFacts, Policy> policyOf, long nowMs) {
    return fleet
        .evaluate(pod, node, policyOf.apply(pod), hold -> true, nowMs)
        .placement()
        .isPresent();
  }
}
