package dev.tranche.extender.verb;

import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.placement.Reason;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Decides about pods whose numbers count GPUs that others serve: a DRA driver, or what serves a
 * foreign node. kube-scheduler counts them. On a node of ours the same number would count replicas.
 */
final class PodsOfOthers {
  private PodsOfOthers() {}

  /** Returns whether the node may be ours, and count replicas. */
  static boolean mayCountReplicas(Ledger ledger, String node) {
    return ledger.node(node).isEmpty() || !ledger.gpus(node).isEmpty();
  }

  /**
   * Leaves out a node that no watch has shown yet. It may be of either kind, and a refusal would
   * last until something changes in the cluster.
   */
  static Filter.Answer filter(Ledger ledger, List<String> names) {
    var offered = new ArrayList<String>();
    var unknown = new ArrayList<String>();
    var refused = new ArrayList<String>();
    for (String name : names) {
      if (ledger.node(name).isEmpty()) {
        unknown.add(name);
      } else if (mayCountReplicas(ledger, name)) {
        refused.add(name);
      } else {
        offered.add(name);
      }
    }
    return offered.isEmpty() && !unknown.isEmpty()
        ? new Filter.Answer.Undecided(
            "node %s has not been read from the API server yet; the pod is retried"
                .formatted(unknown.getFirst()))
        : new Filter.Answer.Nodes(offered, Map.of(Reason.SERVED_BY_PLUGIN, refused));
  }

  /** Returns what kube-scheduler proposes on the nodes that others serve. */
  static Preempt.Answer.Nodes preempt(Ledger ledger, Map<String, Preempt.VictimUids> offered) {
    var victims = new LinkedHashMap<>(offered);
    victims.keySet().removeIf(node -> mayCountReplicas(ledger, node));
    return new Preempt.Answer.Nodes(victims);
  }
}
