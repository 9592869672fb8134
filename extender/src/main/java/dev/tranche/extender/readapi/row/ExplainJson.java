package dev.tranche.extender.readapi.row;

import dev.tranche.api.Printable;
import dev.tranche.extender.explain.SchedulerAdvice;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Optional;

/** A pod, why it is where it is, and kube-scheduler's message about it. */
public final class ExplainJson {
  private ExplainJson() {}

  /**
   * @param explained as {@link Explain} writes it
   * @param row the pod as lists show it; empty if the newest snapshot does not have it yet
   * @param schedulerMessage kube-scheduler's own message about a waiting pod
   */
  public static JsonObject of(
      JsonObject explained, Optional<JsonObject> row, Optional<String> schedulerMessage) {
    JsonObject json = explained.copy();
    row.ifPresent(json::mergeIn);
    schedulerMessage.ifPresent(
        message -> {
          List<String> advice = SchedulerAdvice.of(message, explained.getString("resource"));
          json.put(
              "kubeScheduler",
              new JsonObject()
                  .put("message", Printable.message(message))
                  .put("whatToDo", new JsonArray(advice)));
        });
    return json;
  }
}
