package dev.tranche.extender.verb;

import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.placement.Reason;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Decides about pods whose numbers count GPUs that a DRA driver serves. kube-scheduler counts and
 * allocates the devices. On a node with a device plugin the same number would count replicas.
 */
final class DraPods {
  private DraPods() {}

  /** Returns whether a device plugin may serve our resources on the node. */
  static boolean mayHavePlugin(Ledger ledger, String node) {
    return ledger.node(node).map(NodeFacts::advertises).orElse(true);
  }

  /**
   * Leaves out a node that no watch has shown yet. It may be of either kind, and a refusal would
   * last until something changes in the cluster.
   */
  static Filter.Answer filter(Ledger ledger, List<String> names) {
    var offered = new ArrayList<String>();
    var unknown = new ArrayList<String>();
    var refused = new LinkedHashMap<String, Reason>();
    for (String name : names) {
      if (ledger.node(name).isEmpty()) {
        unknown.add(name);
      } else if (mayHavePlugin(ledger, name)) {
        refused.put(name, Reason.SERVED_BY_PLUGIN);
      } else {
        offered.add(name);
      }
    }
    return offered.isEmpty() && !unknown.isEmpty()
        ? new Filter.Answer.Undecided(
            "node %s has not been read from the API server yet; the pod is retried"
                .formatted(unknown.getFirst()))
        : new Filter.Answer.Nodes(offered, refused);
  }

  /** Returns what kube-scheduler proposes on the nodes without a device plugin. */
  static Preempt.Answer.Nodes preempt(Ledger ledger, Map<String, Preempt.VictimUids> offered) {
    var victims = new LinkedHashMap<>(offered);
    victims.keySet().removeIf(node -> mayHavePlugin(ledger, node));
    return new Preempt.Answer.Nodes(victims);
  }
}
