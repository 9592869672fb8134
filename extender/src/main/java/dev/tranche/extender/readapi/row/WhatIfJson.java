package dev.tranche.extender.readapi.row;

import dev.tranche.extender.explain.Refusals;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.snapshot.NodeFit;
import dev.tranche.extender.verb.WhatIf;
import dev.tranche.extender.verb.WhatIf.Place;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Where a pod would go, as the API shows it. */
public final class WhatIfJson {
  /** Fitting nodes that are shown; the others are only counted. */
  private static final int NODES_MAX = 8;

  private WhatIfJson() {}

  /**
   * @param count number of pods that was asked for; empty if the request has none
   */
  public static JsonObject of(PodFacts pod, WhatIf.Answer found, List<Integer> count, Instant now) {
    var json =
        new JsonObject()
            .put("time", now.toString())
            .put("namespace", pod.namespace())
            .put("name", pod.name())
            .put("resource", pod.resource())
            .put("policy", found.policy().toString())
            .put("fits", !found.places().isEmpty());
    if (found.places().isEmpty()) {
      json.put("waiting", waiting(found));
    } else {
      placed(json, found.places().getFirst());
    }
    var fitted = new JsonArray();
    found.fitting().stream()
        .sorted(Comparator.comparingInt(NodeFit::headroom).reversed())
        .limit(NODES_MAX)
        .forEach(fit -> fitted.add(Explain.node(fit).put("score", fit.headroom())));
    json.put("fitted", fitted).put("fittedCount", found.fitting().size());
    var refusals = Refusals.of(found.refused());
    Explain.refused(json, refusals.nearest(), refusals);
    var excluded = new JsonArray();
    found
        .excluded()
        .forEach((why, nodes) -> excluded.add(Explain.reason("by " + why.words(), nodes)));
    json.put("excludedByReason", excluded)
        .put("excludedCount", found.excluded().values().stream().mapToInt(Integer::intValue).sum());
    count.forEach(requested -> json.put("count", counted(requested, found)));
    return json;
  }

  private static void placed(JsonObject json, Place place) {
    var gpus = new JsonArray();
    for (GpuView gpu : place.fit().gpus()) {
      Integer replicas = place.placement().held().get(gpu.uuid());
      if (replicas != null) {
        gpus.add(
            new JsonObject()
                .put("uuid", gpu.uuid())
                .put("index", gpu.index())
                .put("replicas", replicas)
                .put("replicasPerGpu", gpu.replicas()));
      }
    }
    json.put("node", place.fit().node()).put("score", place.score()).put("gpus", gpus);
  }

  /** Returns the reason of the node that came nearest to fitting. */
  private static JsonObject waiting(WhatIf.Answer found) {
    if (found.undecided().isPresent()) {
      return why("NotDecided", found.undecided().get());
    }
    return Refusals.of(found.refused()).nearest().stream()
        .findFirst()
        .flatMap(fit -> fit.outcome().refusal())
        .map(reason -> why(WaitingReasons.name(reason), reason.sentence()))
        .orElseGet(() -> why("NoNode", "no node that the pod's own fields admit has GPUs"));
  }

  private static JsonObject why(String reason, String message) {
    return new JsonObject().put("reason", reason).put("message", message);
  }

  private static JsonObject counted(int requested, WhatIf.Answer found) {
    Map<String, Integer> byNode = new LinkedHashMap<>();
    found.places().forEach(place -> byNode.merge(place.fit().node(), 1, Integer::sum));
    var nodes = new JsonArray();
    byNode.forEach((node, pods) -> nodes.add(new JsonObject().put("node", node).put("pods", pods)));
    return new JsonObject()
        .put("asked", requested)
        .put("fit", found.places().size())
        .put("complete", !found.late())
        .put("nodes", nodes);
  }
}
