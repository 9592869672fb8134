package dev.tranche.extender.readapi.table;

import io.vertx.core.json.JsonObject;
import java.time.Instant;

/** The kinds of answers that can be shown as text. */
public enum Text {
  NODES,
  GPUS,
  PODS,
  POD,
  WHAT_IF;

  /**
   * @param answer in the API's fields
   */
  public String of(JsonObject answer, Output output, Instant now) {
    return switch (output) {
      case JSON -> answer.encodePrettily() + "\n";
      case YAML -> Yaml.of(answer);
      case TABLE -> table(answer, false, now);
      case WIDE -> table(answer, true, now);
    };
  }

  private String table(JsonObject answer, boolean wide, Instant now) {
    return switch (this) {
      case NODES -> Tables.nodes(answer, wide);
      case GPUS -> Tables.gpuList(answer, wide);
      case PODS -> Tables.podList(answer, wide);
      case POD -> Description.of(answer, wide, now);
      case WHAT_IF -> Description.ofWhatIf(answer, wide, now);
    };
  }
}
