package dev.tranche.extender.verb;

import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.score.Scores;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.snapshot.NodeEvaluator;
import dev.tranche.extender.snapshot.NodeFit;
import dev.tranche.extender.state.SchedulingState;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Scores the nodes that fit. Without a score, all nodes are alike to kube-scheduler. */
public record Prioritize(SchedulingCore core, SchedulingState state) {
  /** Returns a score for every node, in the order of the names; none if nothing is decided. */
  public Map<String, Integer> prioritize(PodFacts pod, List<String> names) {
    // No GPU of ours is compared for a pod that others serve.
    return pod.servedByOthers() || state.readiness.notDeciding().isPresent()
        ? Map.of()
        : scored(pod, names);
  }

  private Map<String, Integer> scored(PodFacts pod, List<String> names) {
    Policy policy = core.evaluator.policyOf(pod);
    var fitting = new ArrayList<NodeFit>();
    NodeEvaluator.ForPod now = core.evaluator.forPod(pod);
    for (int i = 0; i < names.size(); i++) {
      if (i % NodeEvaluator.NODES_BETWEEN_CLOCK_CHECKS == 0 && now.late()) {
        return Map.of();
      }
      NodeFit evaluation = now.of(names.get(i));
      if (evaluation.fits()) {
        fitting.add(evaluation);
      }
    }
    int[] values = policy == Policy.PACKED ? packed(pod, fitting) : headroom(pod, fitting);
    core.explanations.prioritized(pod, policy, fitting, values);
    return inOrder(names, fitting, values);
  }

  /**
   * @param fitting in the order of the names, with a value each; all other names score 0
   */
  private static Map<String, Integer> inOrder(
      List<String> names, List<NodeFit> fitting, int[] values) {
    Map<String, Integer> scores = LinkedHashMap.newLinkedHashMap(names.size());
    int next = 0;
    for (String name : names) {
      boolean fits = next < values.length && fitting.get(next).node().equals(name);
      scores.put(name, fits ? values[next++] : 0);
    }
    return scores;
  }

  private int[] headroom(PodFacts pod, List<NodeFit> evaluations) {
    int[] values = NodeFit.headrooms(evaluations);
    int winner = Scores.winner(values);
    if (winner >= 0) {
      NodeFit best = evaluations.get(winner);
      best.placement().ifPresent(placement -> reserve(pod, best.node(), placement));
    }
    return values;
  }

  /** Scores one winner: the node that filter chose, if it is still among the candidates. */
  private int[] packed(PodFacts pod, List<NodeFit> evaluations) {
    int[] values = new int[evaluations.size()];
    String expected = core.ledger.hold(pod.uid()).map(Hold::node).orElse("");
    for (int i = 0; i < values.length; i++) {
      if (evaluations.get(i).node().equals(expected)) {
        values[i] = Scores.PACKED_WINNER;
        return values;
      }
    }
    core.packing
        .choose(pod, evaluations)
        .ifPresent(
            winner -> {
              NodeFit chosen = winner.evaluation();
              values[evaluations.indexOf(chosen)] = Scores.PACKED_WINNER;
              reserve(pod, chosen.node(), winner.placement());
            });
    return values;
  }

  /**
   * Scores nodes for a pod that requests no GPU, so that it avoids the CPU and memory that GPU pods
   * will need. All nodes score alike if the default policy is not {@code packed}, or if the pod has
   * preferences of its own.
   */
  public Map<String, Integer> withoutGpu(
      HostRequest request, List<String> names, boolean hasNodePreferences) {
    // A node that hasn't reported yet looks like one without GPUs.
    if (!core.evaluator.packsByDefault()
        || hasNodePreferences
        || state.readiness.notDeciding().or(state.readiness::awaitingFirstReports).isPresent()) {
      return Map.of();
    }
    var scores = new LinkedHashMap<String, Integer>();
    names.forEach(name -> scores.put(name, 0));
    core.packing
        .chooseWithoutGpu(request, names, core.evaluator.gpus())
        .forEach(name -> scores.put(name, Scores.PACKED_WINNER));
    return scores;
  }

  private void reserve(PodFacts pod, String node, Placement placement) {
    boolean boundOrBinding = core.ledger.hold(pod.uid()).filter(h -> !h.isTentative()).isPresent();
    if (!boundOrBinding) {
      state.apply(new Event.Reserve(pod, node, placement));
    }
  }
}
