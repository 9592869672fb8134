package dev.tranche.extender.readapi.row;

import dev.tranche.extender.explain.Explanations;
import dev.tranche.extender.explain.Explanations.Chosen;
import dev.tranche.extender.explain.Explanations.Scored;
import dev.tranche.extender.explain.Explanations.Trace;
import dev.tranche.extender.explain.Refusals;
import dev.tranche.extender.explain.Survey;
import dev.tranche.extender.explain.WaitCause;
import dev.tranche.extender.explain.WaitCauses;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.RequestsByReplicas;
import dev.tranche.extender.placement.GpuRequest;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.readapi.row.Decision.Fitting;
import dev.tranche.extender.readapi.row.Decision.LargestShare;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.selection.Exclusion;
import dev.tranche.extender.selection.NodeFilter;
import dev.tranche.extender.snapshot.NodeEvaluator;
import dev.tranche.extender.snapshot.NodeFit;
import dev.tranche.extender.snapshot.NodeSnapshot;
import dev.tranche.process.loop.Loop;
import io.vertx.core.Future;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.IntPredicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Explains why a pod is where it is, or why it waits, in the API's fields. The extender's loop only
 * provides what it knows; workers evaluate thousands of nodes and write the answer.
 */
public final class Explain {
  private static final String NOTE_NOT_CALLED =
      "kube-scheduler has not called this extender for the pod recently; ";

  /** kube-scheduler's dry run of a preemption counts a node's totals only. */
  static final String NOTE_NO_PREEMPTION =
      "kube-scheduler evicts no pod of lower priority for this pod: some nodes have enough free"
          + " replicas in total, but not on a single GPU. Delete a pod of the GPU with the most"
          + " free replicas, or request a smaller share";

  private static final Set<String> SCATTERED =
      Set.of(Reason.FRAGMENTED.sentence(), Reason.TOO_FEW_GPUS.sentence());

  /** Used where the API server did not return the pod's node selectors and tolerations. */
  private static final String NOTE_NO_FILTER =
      "these are all nodes with their current GPUs, including those that the pod's nodeSelector,"
          + " affinity or tolerations exclude";

  private final Ledger ledger;
  private final NodeEvaluator evaluator;
  private final Explanations explanations;

  public Explain(Ledger ledger, NodeEvaluator evaluator, Explanations explanations) {
    this.ledger = ledger;
    this.evaluator = evaluator;
    this.explanations = explanations;
  }

  /**
   * How to make the answer about a pod, with what the loop knows of it.
   *
   * @param evaluated the pod, if all nodes are evaluated for it; null otherwise
   * @param answer makes the answer; may run on any thread
   */
  public record Plan(@Nullable PodFacts evaluated, Answering answer) {
    /**
     * Returns the filter that the answer needs. The API server is asked only if nodes are
     * evaluated.
     *
     * @param pod {@code namespace/name}
     */
    public Future<Optional<NodeFilter>> filter(
        String pod, Function<String, Future<Optional<NodeFilter>>> filters) {
      return evaluated == null ? Future.succeededFuture(Optional.empty()) : filters.apply(pod);
    }
  }

  /** Makes the answer about a pod. */
  @FunctionalInterface
  public interface Answering {
    /**
     * @param filter which nodes the pod excludes; empty if that is not known
     * @param nodes all nodes as they are for the pod; empty if none are evaluated
     */
    PodDetail of(Optional<NodeFilter> filter, List<NodeSnapshot> nodes);
  }

  /** Reads the nodes that an answer needs, in turns, so that decisions on pods do not wait. */
  public Future<List<NodeSnapshot>> nodes(Plan plan, Loop loop) {
    PodFacts pod = plan.evaluated();
    return pod == null ? Future.succeededFuture(List.of()) : nodes(pod, loop);
  }

  /** Reads all nodes as they are for a pod. */
  public Future<List<NodeSnapshot>> nodes(PodFacts pod, Loop loop) {
    return loop.submit(() -> List.copyOf(ledger.nodes()))
        .compose(names -> nodes(pod, names, 0, new ArrayList<>(names.size()), loop));
  }

  private Future<List<NodeSnapshot>> nodes(
      PodFacts pod, List<String> names, int from, List<NodeSnapshot> found, Loop loop) {
    return from == names.size()
        ? Future.succeededFuture(found)
        : loop.submit(() -> evaluator.addSnapshots(pod, names, from, found))
            .compose(next -> nodes(pod, names, next, found, loop));
  }

  /**
   * Collects what is known of a pod; runs on the loop. Empty if nothing is known.
   *
   * @param key {@code namespace/name}
   */
  public Optional<Plan> of(String key) {
    Optional<Trace> trace = explanations.get(key);
    return ledger.pods().stream()
        .filter(p -> key.endsWith(p.name()) && p.key().equals(key))
        .findFirst()
        .or(() -> trace.map(Trace::pod))
        .map(p -> plan(p, trace.filter(t -> t.pod().uid().equals(p.uid()))));
  }

  private Plan plan(PodFacts pod, Optional<Trace> trace) {
    Optional<Hold> hold = ledger.hold(pod.uid());
    boolean outranks =
        pod.node() == null && ledger.outranksAPodOnANode(pod.preemption().priority());
    Policy policy = evaluator.policyOf(pod);
    if (trace.isEmpty() && pod.node() == null && !pod.ended()) {
      // kube-scheduler has called another replica, or none: show what this one would decide now.
      return new Plan(
          pod,
          (filter, nodes) -> {
            Decision decision =
                new NodesForPod(evaluator, pod, policy, nodes).withoutExcluded(filter);
            return PodDetail.of(
                pod,
                hold,
                noteThatPreemptionDoesNotHelp(decision, outranks),
                waiting(pod, policy, nodes, filter));
          });
    }
    Optional<Supplier<Decision>> decided =
        trace.map(this::decided).or(() -> hold.map(h -> placed(pod, h)));
    if (decided.isPresent() && PodState.of(pod, hold.isPresent()) == PodState.WAITING) {
      return new Plan(
          pod,
          (filter, nodes) -> {
            var all = new NodesForPod(evaluator, pod, policy, nodes);
            Decision decision = decided.get().get();
            Decision known =
                filter.map(by -> decision.withSmallerShare(all.smallerShare(by))).orElse(decision);
            return PodDetail.of(
                pod,
                hold,
                noteThatPreemptionDoesNotHelp(known, outranks),
                waiting(pod, policy, nodes, filter));
          });
    }
    return new Plan(
        null,
        (filter, nodes) -> PodDetail.of(pod, hold, decided.map(Supplier::get).orElse(null), null));
  }

  /** Finds out why a pod waits, from all nodes as they are now. */
  private Waiting waiting(
      PodFacts pod, Policy policy, List<NodeSnapshot> nodes, Optional<NodeFilter> filter) {
    List<NodeFit> fits = evaluator.evaluate(pod, nodes, policy);
    WaitCause alone = WaitCauses.of(pod, Survey.of(fits), explanations.decided(pod));
    Stream<String> withGpus = fits.stream().filter(fit -> !fit.gpus().isEmpty()).map(NodeFit::node);
    String excluded = filter.map(by -> Exclusion.ofAll(withGpus.map(by::excludes))).orElse("");
    WaitCause cause = explanations.found(pod, WaitCauses.ownFieldsFirst(alone, excluded));
    return Waiting.of(cause, explanations.trace(pod));
  }

  /** Says so where the pod fits no node, and some node refuses it only for its scattered room. */
  private static Decision noteThatPreemptionDoesNotHelp(Decision decision, boolean outranks) {
    boolean scattered =
        decision.refusedByReason().stream().anyMatch(each -> SCATTERED.contains(each.message()));
    return outranks && scattered && decision.fittedCount() == 0
        ? decision.withNote(NOTE_NO_PREEMPTION)
        : decision;
  }

  private Supplier<Decision> decided(Trace then) {
    // For a waiting pod show the nodes as they are now, for a bound one as they were then.
    Trace trace = then.chosen() == null ? asOfNow(then) : then;
    return () ->
        Decision.of(
            trace.policy().toString(),
            trace.at(),
            choice(trace),
            fitting(trace),
            trace.refused().nearest(),
            trace.refused(),
            null);
  }

  /**
   * Says what decided beside the scores, or null. kube-scheduler adds scores of its own, and breaks
   * ties by chance.
   */
  private static @Nullable String choice(Trace trace) {
    Integer own = score(trace);
    if (trace.chosen() == null || own == null) {
      return null;
    }
    if (trace.fittingCount() == 1) {
      return "it was the only node that fitted";
    }
    String won = trace.chosen().evaluation().node();
    List<String> higher = lost(trace, won, score -> score > own);
    if (!higher.isEmpty()) {
      return "%s had a higher score; kube-scheduler's own scores decided".formatted(nodes(higher));
    }
    List<String> equal = lost(trace, won, score -> score == own.intValue());
    return equal.isEmpty()
        ? null
        : "%s had the same score; kube-scheduler broke the tie".formatted(nodes(equal));
  }

  private static List<String> lost(Trace trace, String won, IntPredicate scored) {
    return trace.fitting().stream()
        .filter(each -> !each.evaluation().node().equals(won))
        .filter(each -> each.score() != null && scored.test(each.score()))
        .map(each -> each.evaluation().node())
        .toList();
  }

  private static String nodes(List<String> names) {
    return (names.size() == 1 ? "node " : "nodes ") + String.join(" and ", names);
  }

  /** Returns the score of the chosen node; null if it is not known. */
  private static @Nullable Integer score(Trace trace) {
    Chosen chosen = trace.chosen();
    Integer score = null;
    for (Scored scored : trace.fitting()) {
      if (chosen != null && scored.evaluation().node().equals(chosen.evaluation().node())) {
        score = scored.score();
      }
    }
    return score;
  }

  /** Evaluates the nodes again that are shown. Some may no longer fit, such as one cut anew. */
  private Trace asOfNow(Trace then) {
    var fitting = new ArrayList<Scored>();
    var lost = new ArrayList<NodeFit>();
    for (Scored scored : then.fitting()) {
      NodeFit now = evaluator.evaluate(then.pod(), scored.evaluation().node());
      if (now.fits()) {
        fitting.add(new Scored(now, scored.score()));
      } else {
        lost.add(now);
      }
    }
    Refusals before = then.refused();
    List<NodeFit> nearest =
        before.nearest().stream().map(fit -> evaluator.evaluate(then.pod(), fit.node())).toList();
    Refusals refused =
        new Refusals(nearest, before.count(), before.byReason()).and(Refusals.of(lost));
    int count = then.fittingCount() - lost.size();
    return new Trace(then.pod(), then.policy(), then.at(), fitting, count, refused, null);
  }

  private static Fitting fitting(Trace trace) {
    Chosen chosen = trace.chosen();
    String won = chosen == null ? "" : chosen.evaluation().node();
    List<Candidate> lost =
        trace.fitting().stream()
            .filter(scored -> !scored.evaluation().node().equals(won))
            .map(scored -> Candidate.of(scored.evaluation(), scored.score()))
            .toList();
    return new Fitting(chosen == null ? null : chosen(chosen, trace), lost, trace.fittingCount());
  }

  private static Candidate chosen(Chosen chosen, Trace trace) {
    NodeFit node = chosen.evaluation();
    return Candidate.chosen(
        node, chosen.at(), taken(node, chosen.placement().held()), score(trace));
  }

  private static List<GpuView> taken(NodeFit node, Map<String, Integer> held) {
    return node.gpus().stream().filter(gpu -> held.containsKey(gpu.uuid())).toList();
  }

  /** Describes a pod that this replica did not place: the GPUs as they would be without the pod. */
  private Supplier<Decision> placed(PodFacts pod, Hold hold) {
    NodeFit without = evaluator.evaluate(pod, hold.node());
    Policy policy = evaluator.policyOf(pod);
    return () ->
        Decision.of(
            policy.toString(),
            null,
            "not decided here; its GPU is " + source(hold),
            new Fitting(
                Candidate.chosen(without, null, taken(without, hold.held()), null), List.of(), 0),
            List.of(),
            Refusals.NONE,
            null);
  }

  private static String source(Hold hold) {
    if (hold.confirmed()) {
      return "known from the kubelet's read-back";
    }
    return hold.placement() == null
        ? "not known yet"
        : "known from the pod's annotation or the node plugin's report";
  }

  /**
   * All nodes as they are for a pod now. The pod's node selectors and tolerations are not kept; the
   * API server is asked for them.
   */
  private record NodesForPod(
      NodeEvaluator evaluator, PodFacts pod, Policy policy, List<NodeSnapshot> snapshots) {
    /**
     * @param filter which nodes the pod excludes; empty if that is not known
     */
    Decision withoutExcluded(Optional<NodeFilter> filter) {
      var counts = new EnumMap<Exclusion, Integer>(Exclusion.class);
      var left = new ArrayList<NodeSnapshot>();
      for (NodeSnapshot node : snapshots) {
        Optional<Exclusion> why = filter.flatMap(f -> f.excludes(node.node()));
        why.ifPresentOrElse(w -> counts.merge(w, 1, Integer::sum), () -> left.add(node));
      }
      String note = NOTE_NOT_CALLED + (filter.isEmpty() ? NOTE_NO_FILTER : exclusionNote(counts));
      Decision decision = evaluated(note, left);
      // Without a filter, the suggested node might be one that the pod excludes.
      return filter.isPresent() && decision.fittedCount() == 0
          ? decision.withSmallerShare(smallerShare(left))
          : decision;
    }

    @Nullable LargestShare smallerShare(NodeFilter filter) {
      return smallerShare(
          snapshots.stream().filter(node -> filter.excludes(node.node()).isEmpty()).toList());
    }

    private @Nullable LargestShare smallerShare(List<NodeSnapshot> nodes) {
      // Otherwise the node may be one that kube-scheduler refuses for a volume or a port.
      if (!pod.scheduler().isOfKnownNodes()) {
        return null;
      }
      return SmallerShare.of(pod, policy, nodes, evaluator).orElse(null);
    }

    private Decision evaluated(String note, List<NodeSnapshot> left) {
      var requests = new RequestsByReplicas(pod);
      var fitted = new ArrayList<Candidate>();
      var refused = new ArrayList<NodeFit>();
      for (NodeSnapshot node : left) {
        GpuRequest request = requests.of(node.replicas());
        NodeFit now = evaluator.evaluate(node, request, policy);
        if (now.placement().isEmpty()) {
          refused.add(now);
        } else if (fitted.size() < Explanations.NODES_MAX) {
          fitted.add(Candidate.of(now));
        }
      }
      var refusals = Refusals.of(refused);
      return Decision.of(
          policy.toString(),
          null,
          note,
          new Fitting(null, fitted, left.size() - refused.size()),
          refusals.nearest(),
          refusals,
          snapshots.size() - left.size());
    }

    private static String exclusionNote(Map<Exclusion, Integer> counts) {
      int all = counts.values().stream().mapToInt(Integer::intValue).sum();
      if (all == 0) {
        return "these are all nodes with their current GPUs";
      }
      String reasons =
          counts.entrySet().stream()
              .map(e -> e.getValue() + " by " + e.getKey().words())
              .collect(Collectors.joining(", "));
      return "these are the nodes with their current GPUs. %d %s excluded: %s"
          .formatted(all, all == 1 ? "node is" : "nodes are", reasons);
    }
  }
}
