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
import dev.tranche.extender.placement.GpuRequest;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Placement;
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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Answers why a pod is where it is, or why it waits, in the API's fields. The loop that decides
 * only says what it knows; thousands of nodes are judged and written elsewhere.
 */
public final class Explain {
  private static final String UNASKED =
      "kube-scheduler has not asked this extender about the pod of late; ";

  private static final double PERCENT = 100;

  /** The API server did not say what the pod says of nodes. */
  private static final String ALL_NODES =
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

  /** Adds to a decision what it was given on the loop; on any thread. */
  @FunctionalInterface
  private interface Part {
    void write(JsonObject decision);
  }

  /**
   * What is known of a pod.
   *
   * @param judged all nodes are, so that those that the pod excludes should be left out
   * @param page the answer; on any thread
   */
  public record Known(boolean judged, Function<Optional<NodeFilter>, JsonObject> page) {
    /**
     * What the page needs; the API server is asked only where nodes are judged.
     *
     * @param pod {@code namespace/name}
     */
    public Future<Optional<NodeFilter>> filter(
        String pod, Function<String, Future<Optional<NodeFilter>>> filters) {
      return judged ? filters.apply(pod) : Future.succeededFuture(Optional.empty());
    }
  }

  /**
   * On the loop. Empty if nothing is known of the pod.
   *
   * @param key {@code namespace/name}
   */
  public Optional<Known> of(String key) {
    Optional<Trace> trace = explanations.get(key);
    return ledger.pods().stream()
        .filter(p -> key.endsWith(p.name()) && p.key().equals(key))
        .findFirst()
        .or(() -> trace.map(Trace::pod))
        .map(p -> known(p, trace.filter(t -> t.pod().uid().equals(p.uid()))));
  }

  private Known known(PodFacts pod, Optional<Trace> trace) {
    Optional<Hold> hold = ledger.hold(pod.uid());
    if (trace.isEmpty() && pod.node() == null && !pod.ended()) {
      // kube-scheduler has asked another replica, or nobody: what this one would say now.
      Judged judged = judged(pod);
      return new Known(true, filter -> page(pod, hold, judged.leavingOut(filter)));
    }
    Part part = trace.map(this::decided).or(() -> hold.map(h -> placed(pod, h))).orElse(json -> {});
    if (PodState.of(pod, hold.isPresent()) == PodState.WAITING) {
      Judged judged = judged(pod);
      return new Known(
          true,
          filter ->
              page(
                  pod,
                  hold,
                  decision -> {
                    part.write(decision);
                    filter.ifPresent(known -> judged.putSmallerShare(decision, known));
                  }));
    }
    return new Known(false, filter -> page(pod, hold, part));
  }

  private static JsonObject page(PodFacts pod, Optional<Hold> hold, Part part) {
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
    part.write(decision);
    return decision.isEmpty() ? json : json.put("decision", decision);
  }

  private Part decided(Trace trace) {
    // A waiting pod asks about now, a bound one about then.
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

  /** Decided by another replica, or by nobody of ours: the GPUs, as they would be without it. */
  private Part placed(PodFacts pod, Hold hold) {
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

  private Judged judged(PodFacts pod) {
    return new Judged(pod, evaluator.policyOf(pod), evaluator.look(pod));
  }

  /** What a pod says of nodes we do not keep; the API server is asked for it. */
  private record Judged(PodFacts pod, Policy policy, List<NodeSnapshot> looked) {
    /**
     * @param filter empty: what the pod excludes is not known
     */
    Part leavingOut(Optional<NodeFilter> filter) {
      var counts = new EnumMap<Exclusion, Integer>(Exclusion.class);
      var left = new ArrayList<NodeSnapshot>();
      for (NodeSnapshot node : looked) {
        Optional<Exclusion> why = filter.flatMap(f -> f.excludes(node.node()));
        why.ifPresentOrElse(w -> counts.merge(w, 1, Integer::sum), () -> left.add(node));
      }
      String note = UNASKED + (filter.isEmpty() ? ALL_NODES : leftOut(counts));
      return json -> {
        judge(json.put("note", note), pod, policy, left);
        json.put("excludedCount", looked.size() - left.size());
        // Without a filter a node that the pod excludes might be praised.
        if (filter.isPresent() && json.getInteger("fittedCount") == 0) {
          putSmallerShare(json, left);
        }
      };
    }

    void putSmallerShare(JsonObject json, NodeFilter filter) {
      putSmallerShare(
          json, looked.stream().filter(node -> filter.excludes(node.node()).isEmpty()).toList());
    }

    private void putSmallerShare(JsonObject json, List<NodeSnapshot> nodes) {
      SmallerShare.of(pod, policy, nodes).ifPresent(share -> json.put("smallerShare", share));
    }

    private static String leftOut(Map<Exclusion, Integer> counts) {
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

  private static void judge(
      JsonObject json, PodFacts pod, Policy policy, List<NodeSnapshot> looked) {
    var requestsByReplicas = new HashMap<Integer, GpuRequest>();
    var fitted = new JsonArray();
    var refused = new ArrayList<NodeFit>();
    for (NodeSnapshot node : looked) {
      GpuRequest ask = requestsByReplicas.computeIfAbsent(node.replicas(), pod::ask);
      NodeFit now = ClusterSnapshot.evaluate(node.node(), ask, node.seen(), policy);
      if (now.placement().isEmpty()) {
        refused.add(now);
      } else if (fitted.size() < Explanations.NODES_MAX) {
        fitted.add(node(now));
      }
    }
    json.put("policy", policy.toString())
        .put("fitted", fitted)
        .put("fittedCount", looked.size() - refused.size());
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
    return json.put("largestShareReplicas", FitErrorText.largestHole(evaluation))
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
