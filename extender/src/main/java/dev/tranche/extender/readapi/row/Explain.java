package dev.tranche.extender.readapi.row;

import dev.tranche.api.Printable;
import dev.tranche.extender.explain.Explanations;
import dev.tranche.extender.explain.Explanations.Chosen;
import dev.tranche.extender.explain.Explanations.Scored;
import dev.tranche.extender.explain.Explanations.Trace;
import dev.tranche.extender.explain.FitErrorText;
import dev.tranche.extender.explain.Refusals;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.RequestsByReplicas;
import dev.tranche.extender.placement.GpuRequest;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.selection.Exclusion;
import dev.tranche.extender.selection.NodeFilter;
import dev.tranche.extender.snapshot.ClusterSnapshot;
import dev.tranche.extender.snapshot.NodeEvaluator;
import dev.tranche.extender.snapshot.NodeFit;
import dev.tranche.extender.snapshot.NodeSnapshot;
import io.vertx.core.Future;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Explains why a pod is where it is, or why it waits, in the API's fields. The extender's loop only
 * provides what it knows; workers evaluate thousands of nodes and write the answer.
 */
public final class Explain {
  private static final String NOTE_NOT_CALLED =
      "kube-scheduler has not asked this extender about the pod of late; ";

  /** kube-scheduler's dry run of a preemption counts a node's totals only. */
  static final String NOTE_NO_PREEMPTION =
      "no pod of lower priority is evicted for this pod where free replicas are scattered:"
          + " kube-scheduler sees enough of them in sum and evicts nobody. Delete a pod of the GPU"
          + " with the most free replicas, or ask for a smaller share";

  private static final Set<String> SCATTERED =
      Set.of(Reason.FRAGMENTED.sentence(), Reason.TOO_FEW_GPUS.sentence());

  private static final double PERCENT = 100;

  /** Used where the API server did not return the pod's node selectors and tolerations. */
  private static final String NOTE_NO_FILTER =
      "these are all nodes by their GPUs now, also those that the pod's nodeSelector, affinity or"
          + " tolerations exclude";

  private final Ledger ledger;
  private final NodeEvaluator evaluator;
  private final Explanations explanations;

  public Explain(Ledger ledger, NodeEvaluator evaluator, Explanations explanations) {
    this.ledger = ledger;
    this.evaluator = evaluator;
    this.explanations = explanations;
  }

  /** Writes into a decision what was collected on the loop. May run on any thread. */
  @FunctionalInterface
  private interface DecisionWriter {
    void write(JsonObject decision);
  }

  /**
   * How to make the answer about a pod, with what the loop knows of it.
   *
   * @param evaluatesNodes whether all nodes are evaluated, and those that the pod excludes should
   *     be left out
   * @param answer makes the answer; may run on any thread
   */
  public record Plan(boolean evaluatesNodes, Function<Optional<NodeFilter>, JsonObject> answer) {
    /**
     * Returns the filter that the answer needs. The API server is asked only if nodes are
     * evaluated.
     *
     * @param pod {@code namespace/name}
     */
    public Future<Optional<NodeFilter>> filter(
        String pod, Function<String, Future<Optional<NodeFilter>>> filters) {
      return evaluatesNodes ? filters.apply(pod) : Future.succeededFuture(Optional.empty());
    }
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
    boolean outranks = outranksAPodOnANode(pod);
    if (trace.isEmpty() && pod.node() == null && !pod.ended()) {
      // kube-scheduler has called another replica, or none: show what this one would decide now.
      NodesForPod nodes = nodesFor(pod);
      return new Plan(
          true,
          filter ->
              answer(
                  pod,
                  hold,
                  decision -> {
                    nodes.withoutExcluded(filter).write(decision);
                    noteThatPreemptionDoesNotHelp(decision, outranks);
                  }));
    }
    DecisionWriter writer =
        trace.map(this::decided).or(() -> hold.map(h -> placed(pod, h))).orElse(json -> {});
    if (PodState.of(pod, hold.isPresent()) == PodState.WAITING) {
      NodesForPod nodes = nodesFor(pod);
      return new Plan(
          true,
          filter ->
              answer(
                  pod,
                  hold,
                  decision -> {
                    writer.write(decision);
                    filter.ifPresent(known -> nodes.putSmallerShare(decision, known));
                    noteThatPreemptionDoesNotHelp(decision, outranks);
                  }));
    }
    return new Plan(false, filter -> answer(pod, hold, writer));
  }

  private boolean outranksAPodOnANode(PodFacts pod) {
    int own = pod.preemption().priority();
    return pod.node() == null
        && ledger.pods().stream()
            .anyMatch(p -> p.node() != null && !p.ended() && p.preemption().priority() < own);
  }

  /** Says so where the pod fits no node, and some node refuses it only for its scattered room. */
  private static void noteThatPreemptionDoesNotHelp(JsonObject decision, boolean outranks) {
    boolean scattered =
        decision.getJsonArray("refusedByReason", new JsonArray()).stream()
            .anyMatch(reason -> SCATTERED.contains(((JsonObject) reason).getString("message")));
    if (outranks && scattered && decision.getInteger("fittedCount", 0) == 0) {
      String note = decision.getString("note", "");
      decision.put("note", note.isEmpty() ? NOTE_NO_PREEMPTION : note + ". " + NOTE_NO_PREEMPTION);
    }
  }

  private static JsonObject answer(PodFacts pod, Optional<Hold> hold, DecisionWriter writer) {
    var json =
        new JsonObject()
            .put("namespace", pod.namespace())
            .put("name", pod.name())
            .put("uid", pod.uid())
            .put("resource", pod.resource())
            .put("state", PodState.of(pod, hold.isPresent()).toString())
            .put("annotations", new JsonObject(Map.copyOf(pod.annotations())));
    hold.ifPresent(h -> json.put("node", h.node()));
    var decision = new JsonObject();
    writer.write(decision);
    return decision.isEmpty() ? json : json.put("decision", decision);
  }

  private DecisionWriter decided(Trace trace) {
    // For a waiting pod show the nodes as they are now, for a bound one as they were then.
    List<NodeFit> refused =
        trace.chosen() != null
            ? trace.refused().nearest()
            : trace.refused().nearest().stream()
                .map(then -> evaluator.evaluate(trace.pod(), then.node()))
                .toList();
    return json -> {
      json.put("policy", trace.policy().toString()).put("time", trace.at().toString());
      fitted(json, trace);
      refused(json, refused, trace.refused());
    };
  }

  private static void fitted(JsonObject json, Trace trace) {
    Chosen chosen = trace.chosen();
    if (chosen != null) {
      json.put("chosen", chosen(chosen));
    }
    var lost = new JsonArray();
    for (Scored scored : trace.fitting()) {
      boolean won = chosen != null && scored.evaluation().node().equals(chosen.evaluation().node());
      JsonObject node = won ? json.getJsonObject("chosen") : node(scored.evaluation());
      if (scored.score() != null) {
        node.put("score", scored.score());
      }
      if (!won) {
        lost.add(node);
      }
    }
    json.put("fitted", lost).put("fittedCount", trace.fittingCount());
  }

  static void refused(JsonObject json, List<NodeFit> shown, Refusals refusals) {
    var nodes = new JsonArray();
    shown.forEach(evaluation -> nodes.add(node(evaluation)));
    var byReason = new JsonArray();
    refusals.byReason().forEach((why, count) -> byReason.add(reason(why.sentence(), count)));
    json.put("refused", nodes)
        .put("refusedCount", refusals.count())
        .put("refusedByReason", byReason);
  }

  static JsonObject reason(String message, int nodes) {
    return new JsonObject().put("message", message).put("nodes", nodes);
  }

  /** Describes a pod that this replica did not place: the GPUs as they would be without the pod. */
  private DecisionWriter placed(PodFacts pod, Hold hold) {
    NodeFit without = evaluator.evaluate(pod, hold.node());
    Policy policy = evaluator.policyOf(pod);
    return json -> {
      List<GpuView> taken =
          without.gpus().stream().filter(g -> hold.held().containsKey(g.uuid())).toList();
      json.put("policy", policy.toString())
          .put("note", "not decided here; which GPU it is on is known by " + source(hold))
          .put("chosen", node(without).put("chosenGpus", gpus(without, taken)))
          .put("fitted", new JsonArray())
          .put("fittedCount", 0);
      refused(json, List.of(), Refusals.NONE);
    };
  }

  private static String source(Hold hold) {
    if (hold.confirmed()) {
      return "the kubelet's read-back";
    }
    return hold.placement() == null ? "nobody yet" : "the pod's annotation or the node's echo";
  }

  private NodesForPod nodesFor(PodFacts pod) {
    return new NodesForPod(pod, evaluator.policyOf(pod), evaluator.snapshotsFor(pod));
  }

  /**
   * All nodes as they are for a pod now. The pod's node selectors and tolerations are not kept; the
   * API server is asked for them.
   */
  private record NodesForPod(PodFacts pod, Policy policy, List<NodeSnapshot> snapshots) {
    /**
     * @param filter which nodes the pod excludes; empty if that is not known
     */
    DecisionWriter withoutExcluded(Optional<NodeFilter> filter) {
      var counts = new EnumMap<Exclusion, Integer>(Exclusion.class);
      var left = new ArrayList<NodeSnapshot>();
      for (NodeSnapshot node : snapshots) {
        Optional<Exclusion> why = filter.flatMap(f -> f.excludes(node.node()));
        why.ifPresentOrElse(w -> counts.merge(w, 1, Integer::sum), () -> left.add(node));
      }
      String note = NOTE_NOT_CALLED + (filter.isEmpty() ? NOTE_NO_FILTER : exclusionNote(counts));
      return json -> {
        putEvaluations(json.put("note", note), pod, policy, left);
        json.put("excludedCount", snapshots.size() - left.size());
        // Without a filter, the suggested node might be one that the pod excludes.
        if (filter.isPresent() && json.getInteger("fittedCount") == 0) {
          putSmallerShare(json, left);
        }
      };
    }

    void putSmallerShare(JsonObject json, NodeFilter filter) {
      putSmallerShare(
          json, snapshots.stream().filter(node -> filter.excludes(node.node()).isEmpty()).toList());
    }

    private void putSmallerShare(JsonObject json, List<NodeSnapshot> nodes) {
      SmallerShare.of(pod, policy, nodes).ifPresent(share -> json.put("smallerShare", share));
    }

    private static String exclusionNote(Map<Exclusion, Integer> counts) {
      int all = counts.values().stream().mapToInt(Integer::intValue).sum();
      if (all == 0) {
        return "these are all nodes by their GPUs now";
      }
      String reasons =
          counts.entrySet().stream()
              .map(e -> e.getValue() + " by " + e.getKey().words())
              .collect(Collectors.joining(", "));
      return "these are the nodes by their GPUs now. %d %s left out: %s"
          .formatted(all, all == 1 ? "node is" : "nodes are", reasons);
    }
  }

  private static void putEvaluations(
      JsonObject json, PodFacts pod, Policy policy, List<NodeSnapshot> snapshots) {
    var requests = new RequestsByReplicas(pod);
    var fitted = new JsonArray();
    var refused = new ArrayList<NodeFit>();
    for (NodeSnapshot node : snapshots) {
      GpuRequest request = requests.of(node.replicas());
      NodeFit now = ClusterSnapshot.evaluate(node.node(), request, node.nodeGpus(), policy);
      if (now.placement().isEmpty()) {
        refused.add(now);
      } else if (fitted.size() < Explanations.NODES_MAX) {
        fitted.add(node(now));
      }
    }
    json.put("policy", policy.toString())
        .put("fitted", fitted)
        .put("fittedCount", snapshots.size() - refused.size());
    var refusals = Refusals.of(refused);
    refused(json, refusals.nearest(), refusals);
  }

  private static JsonObject chosen(Chosen chosen) {
    Placement placement = chosen.placement();
    List<GpuView> taken =
        chosen.evaluation().gpus().stream()
            .filter(g -> placement.held().containsKey(g.uuid()))
            .toList();
    return node(chosen.evaluation())
        .put("time", chosen.at().toString())
        .put("chosenGpus", gpus(chosen.evaluation(), taken));
  }

  static JsonObject node(NodeFit evaluation) {
    var json = new JsonObject().put("node", evaluation.node());
    evaluation.outcome().refusal().ifPresent(reason -> json.put("message", reason.sentence()));
    return json.put("largestShareReplicas", FitErrorText.largestFreeOnOneGpu(evaluation))
        .put("gpus", gpus(evaluation, evaluation.gpus()));
  }

  private static JsonArray gpus(NodeFit evaluation, List<GpuView> gpus) {
    var array = new JsonArray();
    for (GpuView gpu : gpus) {
      var effective = new JsonObject().put("memoryFree", Quantities.bytes(gpu.memoryFreeBytes()));
      if (gpu.measured()) {
        effective.put("sm", Quantities.gpus(Math.round(gpu.smLoad() * PERCENT) / PERCENT));
      }
      array.add(
          new JsonObject()
              .put("index", gpu.index())
              .put("uuid", gpu.uuid())
              .put("model", Printable.name(gpu.model()))
              .put("replicas", gpu.replicas())
              .put("freeReplicas", gpu.freeReplicas())
              .put("memory", Quantities.bytes(gpu.memoryUsableBytes()))
              .put("effective", effective)
              .put("message", Printable.message(FitErrorText.gpu(evaluation, gpu))));
    }
    return array;
  }
}
