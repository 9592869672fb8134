package dev.tranche.extender.verb;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.placement.Outcome;
import dev.tranche.extender.placement.Reason;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Which of the nodes that kube-scheduler names have a GPU for the pod. */
public final class Filter {
  private static final String RESERVED =
      "the room is held for other pods that are being scheduled; this is tried again";
  private final Core core;
  private final Asked asked;

  public Filter(Core core, Asked asked) {
    this.core = core;
    this.asked = asked;
  }

  public sealed interface Answer {
    /**
     * @param nodes that fit
     * @param refused by node
     */
    record Nodes(List<String> nodes, Map<String, Reason> refused) implements Answer {}

    /** Nothing could be decided; kube-scheduler tries again with back-off. */
    record Undecided(String error) implements Answer {}
  }

  public Answer filter(PodFacts pod, List<String> names) {
    Optional<String> notReady = core.notReady();
    if (notReady.isPresent()) {
      return new Answer.Undecided(notReady.get());
    }
    asked.put(pod);
    @Nullable Answer bound = bindUnderWay(pod, names);
    if (bound != null) {
      return bound;
    }
    // What was expected of this pod is history; the room may serve it, or others, elsewhere.
    core.told(new Event.Release(pod.uid()));
    core.waiting.forget(pod.uid());
    return decide(pod, names);
  }

  private @Nullable Answer bindUnderWay(PodFacts pod, List<String> names) {
    Optional<Hold> hold =
        core.ledger.hold(pod.uid()).filter(h -> h.stage() != Hold.Stage.TENTATIVE);
    if (hold.isEmpty()) {
      return null;
    }
    String node = hold.get().node();
    return names.contains(node)
        ? new Answer.Nodes(List.of(node), Map.of())
        : new Answer.Undecided("pod " + pod.key() + " is being bound to node " + node);
  }

  private Answer decide(PodFacts pod, List<String> names) {
    var fitting = new ArrayList<Evaluation>();
    var refused = new ArrayList<Evaluation>();
    long untilMs = core.nowMs() + Core.DECIDE_WITHIN_MS;
    for (String name : names) {
      if (core.nowMs() > untilMs) {
        return new Answer.Undecided(Core.LATE);
      }
      Evaluation evaluation = core.evaluate(pod, name);
      (evaluation.placement().isPresent() ? fitting : refused).add(evaluation);
    }
    core.explanations.filtered(pod, core.policyOf(pod), fitting, refused);
    if (fitting.isEmpty() && transientOnly(pod, refused)) {
      return new Answer.Undecided(RESERVED);
    }
    Map<String, Reason> reasons = reasons(refused);
    reasons.values().forEach(core.metrics::denied);
    if (fitting.isEmpty()) {
      core.rejected(pod, refused);
    } else if (fitting.size() == 1) {
      // With one node left kube-scheduler skips prioritize.
      reserve(pod, fitting.getFirst());
    }
    return new Answer.Nodes(fitting.stream().map(Evaluation::node).toList(), reasons);
  }

  private void reserve(PodFacts pod, Evaluation only) {
    only.placement().ifPresent(place -> core.told(new Event.Reserve(pod, only.node(), place)));
  }

  private boolean transientOnly(PodFacts pod, List<Evaluation> refused) {
    return refused.stream()
        .filter(Filter::couldChange)
        .anyMatch(e -> core.evaluateSettled(pod, e.node()).placement().isPresent());
  }

  private static boolean couldChange(Evaluation evaluation) {
    return evaluation.outcome() instanceof Outcome.DoesNotFit(Reason reason)
        && switch (reason) {
          case FULL, FRAGMENTED, CLIENTS, MEMORY -> true;
          default -> false;
        };
  }

  private static Map<String, Reason> reasons(List<Evaluation> refused) {
    var reasons = new LinkedHashMap<String, Reason>();
    for (Evaluation evaluation : refused) {
      if (evaluation.outcome() instanceof Outcome.DoesNotFit(Reason reason)) {
        reasons.put(evaluation.node(), reason);
      }
    }
    return reasons;
  }
}
