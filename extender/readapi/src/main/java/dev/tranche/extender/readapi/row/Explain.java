package dev.tranche.extender.readapi.row;

import dev.tranche.api.Printable;
import dev.tranche.extender.explain.Explanations;
import dev.tranche.extender.explain.Explanations.Chosen;
import dev.tranche.extender.explain.Explanations.Scored;
import dev.tranche.extender.explain.Explanations.Trace;
import dev.tranche.extender.explain.NodesForPod;
import dev.tranche.extender.explain.NodesForPod.SmallerShare;
import dev.tranche.extender.explain.Refusals;
import dev.tranche.extender.explain.ShareText;
import dev.tranche.extender.explain.Survey;
import dev.tranche.extender.explain.WaitCause;
import dev.tranche.extender.explain.WaitCauses;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Placer;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.readapi.row.Candidate.CandidateGpu;
import dev.tranche.extender.readapi.row.Snapshot.GpuRow;
import dev.tranche.extender.readapi.row.Snapshot.PodRow;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.selection.NodeFilter;
import dev.tranche.extender.snapshot.NodeEvaluator;
import dev.tranche.extender.snapshot.NodeFit;
import dev.tranche.extender.snapshot.NodeSnapshot;
import dev.tranche.process.loop.Loop;
import io.vertx.core.Future;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.IntPredicate;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Explains why a pod is where it is, or why it waits, in the API's fields. The extender's loop only
 * provides what it knows; workers evaluate thousands of nodes and write the answer.
 */
public record Explain(Ledger ledger, NodeEvaluator evaluator, Explanations explanations) {
  private static final String NOTE_NOT_CALLED =
      "kube-scheduler has not called this extender for the pod recently; ";

  /** kube-scheduler's dry run of a preemption counts a node's totals only. */
  static final String NOTE_NO_PREEMPTION =
      "kube-scheduler evicts no pod of lower priority for this pod: some nodes have enough free"
          + " replicas in total, but not on a single GPU. Delete a pod of the GPU with the most"
          + " free replicas, or request a smaller share";

  private static final int HOLDERS_MAX = 3;

  private static final Set<String> SCATTERED =
      Set.of(Reason.FRAGMENTED.sentence, Reason.TOO_FEW_GPUS.sentence);

  /** Used where the API server did not return the pod's node selectors and tolerations. */
  private static final String NOTE_NO_FILTER =
      "these are all nodes with their current GPUs, including those that the pod's nodeSelector,"
          + " affinity or tolerations exclude";

  /** CPU, volumes and ports are kube-scheduler's to check. */
  private static final String NOTE_GPUS_ALONE =
      "these nodes fit by their GPUs now; kube-scheduler also compares CPU, volumes and ports";

  /**
   * How to make the answer about a pod, with what the loop knows of it.
   *
   * @param evaluated whether all nodes are evaluated for the pod as they are now, since it waits
   * @param decided where the pod went; empty while it waits, and if that is not known
   */
  public record Plan(
      PodFacts pod,
      Optional<Hold> hold,
      boolean evaluated,
      Policy policy,
      Optional<Supplier<Decision>> decided) {}

  /**
   * What was asked about a pod.
   *
   * @param filter which nodes the pod excludes; empty if that is not known
   * @param nodes all nodes as they are for the pod; empty if none are evaluated
   * @param message kube-scheduler's own message about a waiting pod
   */
  public record Known(
      Optional<NodeFilter> filter, List<NodeSnapshot> nodes, Optional<String> message) {}

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
    Optional<Supplier<Decision>> decided =
        trace.flatMap(
            then -> Optional.ofNullable(then.chosen()).map(chosen -> decided(then, chosen)));
    boolean evaluated = pod.isPending() && (decided.isEmpty() || hold.isEmpty());
    return new Plan(
        pod,
        hold,
        evaluated,
        evaluator.policyOf(pod),
        evaluated ? decided : decided.or(() -> hold.map(held -> placed(pod, held))));
  }

  /**
   * Makes the answer; runs on a worker.
   *
   * @param view whose pods have names
   */
  public PodDetail answer(Plan plan, Known known, Snapshot snapshot, View view) {
    PodFacts pod = plan.pod();
    Decision decided = plan.decided().map(Supplier::get).orElse(null);
    @Nullable Waiting waiting = null;
    if (plan.evaluated()) {
      NodeFilter filter = known.filter().orElse(node -> Optional.empty());
      NodesForPod now = NodesForPod.of(evaluator, pod, plan.policy(), known.nodes(), filter);
      boolean filtered = known.filter().isPresent();
      Decision decision = decided == null ? ofNow(plan, filtered, now) : decided;
      // Without the filter, the node might be one that the pod excludes; or for a volume or a port.
      SmallerShare smaller =
          filtered && pod.scheduler().isOfKnownNodes()
              ? now.smallerShare(evaluator, pod, plan.policy()).orElse(null)
              : null;
      // Some node refuses it only for its scattered room.
      boolean scattered =
          decision.nodes().refusedByReason().stream()
              .anyMatch(each -> SCATTERED.contains(each.message()));
      boolean inVain =
          scattered && decision.nodes().fittedCount() == 0 && outranksAnother(pod, snapshot);
      decided =
          decision.with(
              inVain ? List.of(NOTE_NO_PREEMPTION, holders(decision, snapshot, view)) : List.of(),
              smaller);
      Survey everywhere = Survey.of(now.everywhere(evaluator, pod, plan.policy()));
      WaitCause alone = WaitCauses.of(pod, everywhere, explanations.decided(pod));
      WaitCause cause = explanations.found(pod, WaitCauses.ownFieldsFirst(alone, now.excludedBy()));
      waiting = Waiting.of(cause, explanations.trace(pod));
    }
    return new PodDetail(
        row(plan, waiting, snapshot),
        Collections.unmodifiableMap(new TreeMap<>(pod.annotations())),
        decided,
        known.message().map(Printable::message).orElse(null));
  }

  /** Whether a pod on a node has a lower priority. */
  private static boolean outranksAnother(PodFacts pod, Snapshot snapshot) {
    int priority = pod.preemption().priority();
    return snapshot.pods.stream()
        .map(PodRow::pod)
        .anyMatch(p -> p.node() != null && !p.ended() && p.preemption().priority() < priority);
  }

  /** Returns the pod as lists show it; the newest snapshot may not have it yet. */
  private Pod row(Plan plan, @Nullable Waiting waiting, Snapshot snapshot) {
    return snapshot.pods.stream()
        .filter(each -> each.pod().uid().equals(plan.pod().uid()))
        .findFirst()
        .map(new WaitingReasons(explanations)::pod)
        .orElseGet(() -> Pod.of(new PodRow("", plan.pod(), plan.hold(), List.of()), waiting));
  }

  /** Says who holds the GPU with the most free replicas; empty if that is not known. */
  private static String holders(Decision decision, Snapshot snapshot, View view) {
    return decision.nodes().refused().stream()
        .flatMap(node -> node.gpus().stream())
        .max(Comparator.comparingInt(CandidateGpu::freeReplicas))
        .flatMap(gpu -> snapshot.gpu(gpu.uuid()))
        .filter(gpu -> !gpu.gpu().holds().isEmpty())
        .map(gpu -> holders(gpu, view))
        .orElse("");
  }

  private static String holders(GpuRow row, View view) {
    List<Hold> named = row.gpu().holds().stream().filter(view::shows).toList();
    Stream<String> names =
        named.stream()
            .limit(HOLDERS_MAX)
            .map(
                hold ->
                    "%s (%s)"
                        .formatted(
                            hold.key(),
                            ShareText.fraction(
                                Holder.replicas(row.gpu(), hold),
                                Holder.replicasPerGpu(row.gpu(), hold))));
    boolean all = named.size() == row.gpu().holds().size();
    Stream<String> others = all ? Stream.empty() : Stream.of("pods of other namespaces");
    return "GPU %d of node %s is held by %s"
        .formatted(
            row.gpu().view().index(),
            row.node().name(),
            Stream.concat(names, others).collect(Collectors.joining(", ")));
  }

  /** Shows the nodes as they are now, whenever kube-scheduler called last. */
  private Decision ofNow(Plan plan, boolean filtered, NodesForPod now) {
    List<NodeFit> fitting = now.fitting();
    Optional<Instant> calledAt = explanations.trace(plan.pod()).map(Trace::at);
    @Nullable String note = fitting.isEmpty() ? null : NOTE_GPUS_ALONE;
    if (!filtered) {
      note = NOTE_NO_FILTER;
    } else if (calledAt.isEmpty()) {
      note = exclusionNote(now);
    }
    return new Decision(
        plan.policy().toString(),
        calledAt.orElse(null),
        calledAt.isEmpty() ? NOTE_NOT_CALLED + note : note,
        null,
        CandidateNodes.of(
            fitting.stream().limit(Explanations.NODES_MAX).map(Candidate::of).toList(),
            fitting.size(),
            Refusals.of(now.fits())),
        filtered ? now.excludedCount() : null,
        null);
  }

  private static String exclusionNote(NodesForPod now) {
    int all = now.excludedCount();
    if (all == 0) {
      return "these are all nodes with their current GPUs";
    }
    String reasons =
        now.excluded().entrySet().stream()
            .map(each -> each.getValue() + " by " + each.getKey().words)
            .collect(Collectors.joining(", "));
    return "these are the nodes with their current GPUs. %d %s excluded: %s"
        .formatted(all, all == 1 ? "node is" : "nodes are", reasons);
  }

  private static Supplier<Decision> decided(Trace trace, Chosen chosen) {
    NodeFit node = chosen.evaluation();
    return () ->
        new Decision(
            trace.policy().toString(),
            trace.at(),
            place(trace, chosen),
            Candidate.of(node, score(trace, chosen), taken(node, chosen.placement().held())),
            CandidateNodes.of(
                trace.fitting().stream()
                    .filter(scored -> !scored.evaluation().node().equals(node.node()))
                    .map(scored -> Candidate.of(scored.evaluation(), scored.score()))
                    .toList(),
                trace.fittingCount(),
                trace.refused()),
            null,
            null);
  }

  /** Says where the pod went and why. */
  private static String place(Trace trace, Chosen chosen) {
    NodeFit node = chosen.evaluation();
    List<GpuView> taken = taken(node, chosen.placement().held());
    String gpus = taken.stream().map(gpu -> "" + gpu.index()).collect(Collectors.joining(" and "));
    String place = "on node %s GPU %s".formatted(node.node(), gpus);
    if (taken.size() == 1) {
      GpuView gpu = taken.getFirst();
      place += compared(gpu, chosen.placement().held().getOrDefault(gpu.uuid(), 0), trace);
    }
    String choice = choice(trace, chosen);
    return choice == null ? place : place + "; " + choice;
  }

  /** Compares the GPU by what its policy looks at first with others that had room for the pod. */
  private static String compared(GpuView gpu, int share, Trace trace) {
    boolean byLoad = trace.policy() == Policy.LOAD || trace.policy() == Policy.LOAD_SPARING_IDLE;
    ToLongFunction<GpuView> percent =
        each -> Math.round(100 * (byLoad ? each.smLoad() : each.freeRatio()));
    LongSummaryStatistics others =
        trace.fitting().stream()
            .map(Scored::evaluation)
            .flatMap(
                each ->
                    each.gpus().stream()
                        .filter(other -> Placer.ineligible(each.request(), other).isEmpty()))
            .filter(other -> !other.uuid().equals(gpu.uuid()) && other.freeShare() >= share)
            .filter(other -> other.measured() || !byLoad)
            .mapToLong(percent)
            .summaryStatistics();
    if (byLoad && !gpu.measured()) {
      return ": its load is not known";
    }
    long own = percent.applyAsLong(gpu);
    String what =
        byLoad && others.getCount() > 0 && own <= others.getMin()
            ? "least loaded of %d, %d %%".formatted(others.getCount() + 1, own)
            : "%d %% %s".formatted(own, byLoad ? "loaded" : "free");
    if (others.getCount() == 0) {
      return ": " + what;
    }
    String most = others.getMin() == others.getMax() ? "" : " to " + others.getMax();
    return ": %s; others %d%s %%".formatted(what, others.getMin(), most);
  }

  /**
   * Says what decided beside the scores, or null. kube-scheduler adds scores of its own, and breaks
   * ties by chance.
   */
  private static @Nullable String choice(Trace trace, Chosen chosen) {
    Integer own = score(trace, chosen);
    if (own == null) {
      return null;
    }
    if (trace.fittingCount() == 1) {
      return "it was the only node that fitted";
    }
    String won = chosen.evaluation().node();
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
  private static @Nullable Integer score(Trace trace, Chosen chosen) {
    Integer score = null;
    for (Scored scored : trace.fitting()) {
      if (scored.evaluation().node().equals(chosen.evaluation().node())) {
        score = scored.score();
      }
    }
    return score;
  }

  private static List<GpuView> taken(NodeFit node, Map<String, Integer> held) {
    return node.gpus().stream().filter(gpu -> held.containsKey(gpu.uuid())).toList();
  }

  /** Describes a pod that this replica did not place: the GPUs as they would be without the pod. */
  private Supplier<Decision> placed(PodFacts pod, Hold hold) {
    NodeFit without = evaluator.evaluate(pod, hold.node());
    Policy policy = evaluator.policyOf(pod);
    return () ->
        new Decision(
            policy.toString(),
            null,
            "not decided here; its GPU is " + source(hold),
            Candidate.of(without, null, taken(without, hold.held())),
            CandidateNodes.of(List.of(), 0, Refusals.NONE),
            null,
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
}
