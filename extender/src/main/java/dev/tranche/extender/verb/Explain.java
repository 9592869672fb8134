package dev.tranche.extender.verb;

import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Outcome;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.verb.Explanations.Chosen;
import dev.tranche.extender.verb.Explanations.Scored;
import dev.tranche.extender.verb.Explanations.Trace;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Answers why a pod is where it is, or why it waits. */
public final class Explain {
  private Explain() {}

  /** On the loop. Empty if nothing is known of the pod. */
  public static Optional<JsonObject> of(Core core, String key) {
    Optional<Trace> trace = core.explanations.get(key);
    Optional<PodFacts> pod =
        core.ledger.pods().stream()
            .filter(p -> p.key().equals(key))
            .findFirst()
            .or(() -> trace.map(Trace::pod));
    return pod.map(p -> explained(core, p, trace.filter(t -> t.pod().uid().equals(p.uid()))));
  }

  private static JsonObject explained(Core core, PodFacts pod, Optional<Trace> trace) {
    Optional<Hold> hold = core.ledger.hold(pod.uid());
    var json =
        new JsonObject()
            .put("pod", pod.key())
            .put("uid", pod.uid())
            .put("resource", pod.resource())
            .put("state", state(pod, hold))
            .put("annotations", new JsonObject(Map.copyOf(pod.annotations())));
    hold.ifPresent(h -> json.put("hold", hold(h)));
    if (trace.isPresent()) {
      decided(core, json, trace.get());
    } else if (pod.node() == null && !pod.ended()) {
      judged(core, json, pod);
    } else {
      hold.ifPresent(h -> placed(core, json, pod, h));
    }
    return json;
  }

  private static String state(PodFacts pod, Optional<Hold> hold) {
    if (pod.ended()) {
      return "ended";
    }
    if (pod.node() != null) {
      return "bound";
    }
    return hold.isPresent() ? "being scheduled" : "waiting";
  }

  private static JsonObject hold(Hold hold) {
    return new JsonObject()
        .put("node", hold.node())
        .put("stage", Inspection.stage(hold))
        .put("replicasByGpu", new JsonObject(Map.copyOf(hold.held())));
  }

  private static void decided(Core core, JsonObject json, Trace trace) {
    Chosen chosen = trace.chosen();
    json.put("policy", trace.policy().toString()).put("decidedAt", trace.at().toString());
    if (chosen != null) {
      json.put("chosen", chosen(chosen));
    }
    var lost = new JsonArray();
    for (Scored scored : trace.fitting()) {
      boolean won = chosen != null && scored.evaluation().node().equals(chosen.evaluation().node());
      if (!won) {
        lost.add(node(scored.evaluation()).put("score", scored.score()));
      } else {
        json.getJsonObject("chosen").put("score", scored.score());
      }
    }
    json.put("fitted", lost).put("fittedCount", trace.fittingCount());
    var refused = new JsonArray();
    for (Evaluation then : trace.refused()) {
      // A waiting pod asks about now, a bound one about then.
      Evaluation shown = chosen == null ? core.evaluate(trace.pod(), then.node()) : then;
      refused.add(node(shown));
    }
    json.put("refused", refused).put("refusedCount", trace.refusedCount());
  }

  /** Decided by another replica, or by nobody of ours: the GPUs, as they would be without it. */
  private static void placed(Core core, JsonObject json, PodFacts pod, Hold hold) {
    Evaluation without = core.evaluate(pod, hold.node());
    List<GpuView> taken =
        without.gpus().stream().filter(g -> hold.held().containsKey(g.uuid())).toList();
    String source =
        hold.confirmed()
            ? "the kubelet's read-back"
            : hold.placement() == null ? "nobody yet" : "the pod's annotation or the node's echo";
    json.put("policy", core.policyOf(pod).toString())
        .put("note", "not decided here; which GPU it is on is known by " + source)
        .put("chosen", node(without).put("chosenGpus", gpus(without, taken)))
        .put("fitted", new JsonArray())
        .put("fittedCount", 0)
        .put("refused", new JsonArray())
        .put("refusedCount", 0);
  }

  /** kube-scheduler has asked another replica: what this one would say now. */
  private static void judged(Core core, JsonObject json, PodFacts pod) {
    var fitted = new JsonArray();
    var refused = new JsonArray();
    int fittedCount = 0;
    int refusedCount = 0;
    for (String name : core.ledger.nodes()) {
      Evaluation now = core.evaluate(pod, name);
      if (now.gpus().isEmpty()) {
        continue;
      }
      boolean fits = now.placement().isPresent();
      JsonArray shown = fits ? fitted : refused;
      if (shown.size() < Explanations.NODES_MAX) {
        shown.add(node(now));
      }
      fittedCount += fits ? 1 : 0;
      refusedCount += fits ? 0 : 1;
    }
    json.put("policy", core.policyOf(pod).toString())
        .put("note", "kube-scheduler asks another replica; this is what this one sees now")
        .put("fitted", fitted)
        .put("fittedCount", fittedCount)
        .put("refused", refused)
        .put("refusedCount", refusedCount);
  }

  private static JsonObject chosen(Chosen chosen) {
    Placement placement = chosen.placement();
    List<GpuView> taken =
        chosen.evaluation().gpus().stream()
            .filter(g -> placement.held().containsKey(g.uuid()))
            .toList();
    return node(chosen.evaluation())
        .put("at", chosen.at().toString())
        .put("chosenGpus", gpus(chosen.evaluation(), taken));
  }

  private static JsonObject node(Evaluation evaluation) {
    var json = new JsonObject().put("node", evaluation.node());
    if (evaluation.outcome() instanceof Outcome.DoesNotFit(Reason reason)) {
      json.put("reason", reason.sentence());
    }
    return json.put("gpus", gpus(evaluation, evaluation.gpus()));
  }

  private static JsonArray gpus(Evaluation evaluation, List<GpuView> gpus) {
    var array = new JsonArray();
    for (GpuView gpu : gpus) {
      array.add(
          new JsonObject()
              .put("gpu", gpu.index())
              .put("uuid", gpu.uuid())
              .put("model", gpu.model())
              .put("replicas", gpu.replicas())
              .put("freeReplicas", gpu.freeReplicas())
              .put("smLoadPercent", Math.round(gpu.smLoad() * 100))
              .put("memoryFreeBytes", gpu.memoryFreeBytes())
              .put("memoryUsableBytes", gpu.memoryUsableBytes())
              .put("measured", gpu.measured())
              .put("figures", Figures.gpu(evaluation, gpu)));
    }
    return array;
  }
}
