package dev.tranche.extender.readapi.row;

import dev.tranche.api.Printable;
import dev.tranche.extender.explain.SchedulerAdvice;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Map;
import java.util.Optional;

/** Why a pod is where it is, in the API's fields. */
public final class ExplainJson {
  private static final double PERCENT = 100.0;

  private ExplainJson() {}

  /**
   * @param explained as the extender's {@code Explain} writes it
   * @param row the pod as lists show it; empty where the newest picture does not have it yet
   * @param schedulerMessage kube-scheduler's own, of a waiting pod
   */
  public static JsonObject of(
      JsonObject explained, Optional<JsonObject> row, Optional<String> schedulerMessage) {
    String resource = explained.getString("resource");
    JsonObject json = row.orElseGet(() -> head(explained));
    json.put("annotations", explained.getJsonObject("annotations"));
    if (explained.containsKey("policy")) {
      json.put("decision", decision(explained));
    }
    schedulerMessage.ifPresent(
        message ->
            json.put(
                "kubeScheduler",
                new JsonObject()
                    .put("message", Printable.message(message))
                    .put("whatToDo", new JsonArray(SchedulerAdvice.of(message, resource)))));
    return json;
  }

  private static JsonObject head(JsonObject explained) {
    String[] key = explained.getString("pod").split("/", 2);
    JsonObject hold = explained.getJsonObject("hold");
    var json =
        new JsonObject()
            .put("namespace", key[0])
            .put("name", key[1])
            .put("uid", explained.getString("uid"))
            .put("resource", explained.getString("resource"))
            .put("state", state(explained.getString("state")).toString());
    return hold == null ? json : json.put("node", hold.getString("node"));
  }

  private static PodState state(String explained) {
    return switch (explained) {
      case "ended" -> PodState.ENDED;
      case "bound" -> PodState.BOUND;
      case "waiting" -> PodState.WAITING;
      default -> PodState.SCHEDULING;
    };
  }

  private static JsonObject decision(JsonObject explained) {
    var json = new JsonObject().put("policy", explained.getString("policy"));
    copy(explained, "decidedAt", json, "time");
    copy(explained, "note", json, "note");
    copy(explained, "leftOutCount", json, "excludedCount");
    copy(explained, "smallerShare", json, "smallerShare");
    JsonObject chosen = explained.getJsonObject("chosen");
    if (chosen != null) {
      json.put("chosen", node(chosen));
    }
    return json.put("fitted", nodes(explained.getJsonArray("fitted")))
        .put("fittedCount", explained.getInteger("fittedCount"))
        .put("refused", nodes(explained.getJsonArray("refused")))
        .put("refusedCount", explained.getInteger("refusedCount"))
        .put("refusedByReason", byReason(explained.getJsonObject("refusedByReason")));
  }

  private static void copy(JsonObject from, String field, JsonObject to, String as) {
    Object value = from.getValue(field);
    if (value != null) {
      to.put(as, value);
    }
  }

  private static JsonArray byReason(JsonObject counts) {
    var array = new JsonArray();
    for (Map.Entry<String, Object> reason : counts) {
      array.add(new JsonObject().put("message", reason.getKey()).put("nodes", reason.getValue()));
    }
    return array;
  }

  private static JsonArray nodes(JsonArray nodes) {
    var array = new JsonArray();
    nodes.forEach(node -> array.add(node((JsonObject) node)));
    return array;
  }

  static JsonObject node(JsonObject node) {
    var json = new JsonObject().put("node", node.getString("node"));
    copy(node, "at", json, "time");
    copy(node, "score", json, "score");
    copy(node, "reason", json, "message");
    copy(node, "largestHole", json, "largestShareReplicas");
    json.put("gpus", gpus(node.getJsonArray("gpus")));
    if (node.containsKey("chosenGpus")) {
      json.put("chosenGpus", gpus(node.getJsonArray("chosenGpus")));
    }
    return json;
  }

  private static JsonArray gpus(JsonArray gpus) {
    var array = new JsonArray();
    gpus.forEach(gpu -> array.add(gpu((JsonObject) gpu)));
    return array;
  }

  private static JsonObject gpu(JsonObject gpu) {
    var effective =
        new JsonObject().put("memoryFree", Quantities.bytes(gpu.getLong("memoryFreeBytes")));
    if (gpu.getBoolean("measured")) {
      effective.put("sm", Quantities.gpus(gpu.getLong("smLoadPercent") / PERCENT));
    }
    return new JsonObject()
        .put("index", gpu.getInteger("gpu"))
        .put("uuid", gpu.getString("uuid"))
        .put("model", Printable.name(gpu.getString("model")))
        .put("replicas", gpu.getInteger("replicas"))
        .put("freeReplicas", gpu.getInteger("freeReplicas"))
        .put("memory", Quantities.bytes(gpu.getLong("memoryUsableBytes")))
        .put("effective", effective)
        .put("message", Printable.message(gpu.getString("figures")));
  }
}
