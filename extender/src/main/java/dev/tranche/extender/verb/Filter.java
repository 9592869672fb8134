package dev.tranche.extender.verb;

import dev.tranche.extender.explain.Explanations;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.score.IdleGpus;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.snapshot.NodeEvaluator;
import dev.tranche.extender.snapshot.NodeFit;
import dev.tranche.extender.snapshot.PackedPolicy;
import dev.tranche.extender.state.NominationPlanner;
import dev.tranche.extender.state.ReadinessGate;
import dev.tranche.extender.state.StateWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** Selects, among the nodes that kube-scheduler names, those with a GPU for the pod. */
public final class Filter {
  private static final String RESERVED =
      "the free replicas are held for other pods that are being scheduled; the pod will be retried";

  private static final String UNACKNOWLEDGED =
      "only nodes that do not acknowledge assignments fit; the pod will be retried";

  private final ReadinessGate readiness;
  private final Ledger ledger;
  private final NodeEvaluator evaluator;
  private final NominationPlanner nominations;
  private final StateWriter state;
  private final PackedPolicy packing;
  private final Explanations explanations;
  private final RecentlyFilteredPods recentlyFiltered;
  private final ExtenderMetrics metrics;
  private final int offeredMax;

  /** Where the next search among nodes of equal score starts. */
  private int rotation;

  /**
   * The nodes that fit the current pod. The list is reused for every pod, since it may have
   * thousands of entries.
   */
  private final List<NodeFit> fitting = new ArrayList<>();

  private final List<NodeFit> refused = new ArrayList<>();

  /**
   * @param offeredMax the most nodes, the best ones, that a pod without soft preferences is
   *     offered, so that kube-scheduler doesn't score thousands; 0: all that fit
   */
  public Filter(
      ReadinessGate readiness,
      Ledger ledger,
      NodeEvaluator evaluator,
      NominationPlanner nominations,
      StateWriter state,
      PackedPolicy packing,
      Explanations explanations,
      RecentlyFilteredPods recentlyFiltered,
      ExtenderMetrics metrics,
      int offeredMax) {
    this.readiness = readiness;
    this.ledger = ledger;
    this.evaluator = evaluator;
    this.nominations = nominations;
    this.state = state;
    this.packing = packing;
    this.explanations = explanations;
    this.recentlyFiltered = recentlyFiltered;
    this.metrics = metrics;
    this.offeredMax = offeredMax;
  }

  /** Records what a pod requests beside GPUs. */
  public void requested(String uid, HostRequest request) {
    packing.requested(uid, request);
  }

  public sealed interface Answer {
    /**
     * @param nodes that fit
     * @param refused the reason for each node that doesn't fit
     */
    record Nodes(List<String> nodes, Map<String, Reason> refused) implements Answer {}

    /** Nothing could be decided; kube-scheduler retries with backoff. */
    record Undecided(String error) implements Answer {}
  }

  /**
   * @param hasNodePreferences the pod has soft preferences of its own among the nodes
   */
  public Answer filter(PodFacts pod, List<String> names, boolean hasNodePreferences) {
    Optional<String> notReady = readiness.notDeciding();
    if (notReady.isPresent()) {
      return new Answer.Undecided(notReady.get());
    }
    recentlyFiltered.put(pod);
    @Nullable Answer bound = bindUnderWay(pod, names);
    if (bound != null) {
      return bound;
    }
    nominations.planAll();
    // Drops the pod's tentative hold: this decision, or another pod's, may need those replicas.
    state.apply(new Event.Release(pod.uid()));
    return decide(pod, names, hasNodePreferences);
  }

  private @Nullable Answer bindUnderWay(PodFacts pod, List<String> names) {
    Optional<Hold> hold = ledger.hold(pod.uid()).filter(h -> h.stage() != Hold.Stage.TENTATIVE);
    if (hold.isEmpty()) {
      return null;
    }
    String node = hold.get().node();
    return names.contains(node)
        ? new Answer.Nodes(List.of(node), Map.of())
        : new Answer.Undecided("pod " + pod.key() + " is being bound to node " + node);
  }

  private Answer decide(PodFacts pod, List<String> names, boolean hasNodePreferences) {
    fitting.clear();
    refused.clear();
    NodeEvaluator.ForPod now = evaluator.forPod(pod);
    int gpus = 0;
    int idle = 0;
    for (int i = 0; i < names.size(); i++) {
      if (i % NodeEvaluator.NODES_BETWEEN_CLOCK_CHECKS == 0 && now.late()) {
        return new Answer.Undecided(NodeEvaluator.LATE);
      }
      NodeFit evaluation = now.of(names.get(i));
      (evaluation.fits() ? fitting : refused).add(evaluation);
      gpus += evaluation.measuredGpus();
      idle += evaluation.idleGpus();
    }
    updateIdleScarcity(pod, new IdleGpus(gpus, idle));
    explanations.filtered(pod, evaluator.policyOf(pod), fitting, refused);
    @Nullable Answer wait =
        fitting.isEmpty() ? undecidedIfTransient(pod, refused, now::late) : null;
    if (wait != null) {
      return wait;
    }
    Map<String, Reason> reasons = reasons(refused);
    reasons.values().forEach(metrics::denied);
    if (fitting.isEmpty()) {
      state.rejected(pod, refused);
      explanations.rejected(pod, refused);
    } else if (evaluator.policyOf(pod) == Policy.PACKED) {
      return new Answer.Nodes(names(packed(pod, fitting, hasNodePreferences)), reasons);
    }
    List<NodeFit> offered = hasNodePreferences ? fitting : best(pod, fitting);
    if (offered.size() == 1) {
      // With one node left kube-scheduler skips prioritize.
      reserve(pod, offered.getFirst());
    }
    return new Answer.Nodes(names(offered), reasons);
  }

  /**
   * Evaluates the fitting nodes again if idle GPUs have become scarce, or have ceased to be, under
   * policy {@code load}.
   */
  private void updateIdleScarcity(PodFacts pod, IdleGpus all) {
    Policy before = evaluator.policyOf(pod);
    if (before != Policy.LOAD && before != Policy.LOAD_SPARING_IDLE) {
      return;
    }
    evaluator.setIdleScarce(all.scarce());
    if (evaluator.policyOf(pod) != before) {
      NodeEvaluator.ForPod now = evaluator.forPod(pod);
      fitting.replaceAll(e -> now.of(e.node()));
    }
  }

  private static List<String> names(List<NodeFit> evaluations) {
    return evaluations.stream().map(NodeFit::node).toList();
  }

  /** Chooses the node here, where all nodes are known; prioritize only repeats the choice. */
  private List<NodeFit> packed(PodFacts pod, List<NodeFit> fitting, boolean hasNodePreferences) {
    Optional<PackedPolicy.Winner> winner = packing.choose(pod, fitting);
    winner.ifPresent(
        w -> state.apply(new Event.Reserve(pod, w.evaluation().node(), w.placement())));
    return hasNodePreferences || offeredMax == 0
        ? fitting
        : winner.map(w -> List.of(w.evaluation())).orElse(fitting);
  }

  /**
   * Rotates among nodes of equal score, so that successive pods aren't all offered the same nodes.
   */
  private List<NodeFit> best(PodFacts pod, List<NodeFit> fitting) {
    var offer = new Offer(evaluator.policyOf(pod), offeredMax, rotation);
    rotation = offer.rotationAfter(fitting);
    return offer.of(fitting);
  }

  private void reserve(PodFacts pod, NodeFit only) {
    only.placement().ifPresent(place -> state.apply(new Event.Reserve(pod, only.node(), place)));
  }

  /** Returns the offer that the next pod would get; changes nothing. */
  Offer offer(Policy policy) {
    return new Offer(policy, offeredMax, rotation);
  }

  /** Returns what filter would wait for before it refuses a pod on these nodes. */
  Optional<String> awaiting(List<NodeFit> refused) {
    return readiness
        .awaitingFirstReports()
        .filter(why -> refused.stream().anyMatch(NodeFit::notReported));
  }

  /** Returns why filter would decide nothing because of this node; changes nothing. */
  Optional<String> undecided(PodFacts pod, NodeFit refused) {
    return couldChange(refused) && fitsIgnoringTemporaryHolds(pod, refused.node())
        ? Optional.of(RESERVED)
        : Optional.empty();
  }

  /**
   * Returns an answer if the pod may fit soon: a node's first report is awaited, the holds in the
   * way may go, or a node with room is in backoff. Such an error makes kube-scheduler retry; a
   * refusal would make it evict pods. Null if each node refuses the pod for a lasting reason.
   */
  private @Nullable Answer undecidedIfTransient(
      PodFacts pod, List<NodeFit> refused, BooleanSupplier late) {
    Optional<String> awaiting = awaiting(refused);
    if (awaiting.isPresent()) {
      return new Answer.Undecided(awaiting.get());
    }
    if (refused.stream().anyMatch(NodeFit::notAcknowledging)) {
      return new Answer.Undecided(UNACKNOWLEDGED);
    }
    for (NodeFit evaluation : refused) {
      if (late.getAsBoolean()) {
        return new Answer.Undecided(NodeEvaluator.LATE);
      }
      Optional<String> undecided = undecided(pod, evaluation);
      if (undecided.isPresent()) {
        return new Answer.Undecided(undecided.get());
      }
    }
    return null;
  }

  private boolean fitsIgnoringTemporaryHolds(PodFacts pod, String node) {
    return evaluator.hasTemporaryHolds(node)
        && evaluator.evaluateIgnoringTemporaryHolds(pod, node).placement().isPresent();
  }

  private static boolean couldChange(NodeFit evaluation) {
    return switch (evaluation.outcome().refusal().orElse(null)) {
      case FULL, FRAGMENTED, TOO_FEW_GPUS, CLIENTS, MEMORY, UNDECIDED -> true;
      case null, default -> false;
    };
  }

  /** Leaves out nodes in backoff: what is wrong with them is nothing that an eviction resolves. */
  private static Map<String, Reason> reasons(List<NodeFit> refused) {
    var reasons = new LinkedHashMap<String, Reason>();
    for (NodeFit evaluation : refused) {
      if (!evaluation.notAcknowledging()) {
        evaluation.outcome().refusal().ifPresent(r -> reasons.put(evaluation.node(), r));
      }
    }
    return reasons;
  }
}
