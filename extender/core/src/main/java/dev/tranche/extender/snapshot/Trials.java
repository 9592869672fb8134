package dev.tranche.extender.snapshot;

import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Evaluates one node after the other as if some pods had ended. It remembers what it found for as
 * long as the node is the same and unchanged, so that a search goes on where its turn ended.
 * Confined to the loop.
 */
public final class Trials {
  private final NodeEvaluator evaluator;
  private final Ledger ledger;
  private final PodFacts pod;
  private final Turn turn;
  private final Map<Set<String>, NodeFit> found = new HashMap<>();
  private @Nullable String last;
  private long version;

  /**
   * @param pod for which the nodes are evaluated
   */
  public Trials(NodeEvaluator evaluator, Ledger ledger, PodFacts pod, Turn turn) {
    this.evaluator = evaluator;
    this.ledger = ledger;
    this.pod = pod;
    this.turn = turn;
  }

  /**
   * @param gone uids of the pods that count as ended
   * @throws Turn.Over if this was not evaluated yet, and the turn is over
   */
  public NodeFit without(String node, Set<String> gone) {
    if (!node.equals(last) || version != ledger.version(node)) {
      found.clear();
      last = node;
      version = ledger.version(node);
    }
    NodeFit known = found.get(gone);
    if (known != null) {
      return known;
    }
    turn.step();
    NodeFit fit = evaluator.evaluateWithout(pod, node, gone);
    turn.spent(Math.max(1L, fit.gpus().size()) * (1 + ledger.holds(node).size()));
    found.put(Set.copyOf(gone), fit);
    return fit;
  }
}
