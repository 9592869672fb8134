package dev.tranche.extender.http;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.verb.Filter;
import dev.tranche.extender.verb.Preempt;
import io.vertx.core.buffer.Buffer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Writes answers as bytes, with the capitalised keys of kube-scheduler's types. */
public final class ExtenderWriter {
  private static final JsonFactory FACTORY = new JsonFactory();

  private ExtenderWriter() {}

  @FunctionalInterface
  private interface Body {
    void write(JsonGenerator json) throws IOException;
  }

  public static Buffer filter(Filter.Answer answer) {
    return switch (answer) {
      case Filter.Answer.Undecided(String error) -> error(error);
      case Filter.Answer.Nodes(List<String> nodes, Map<String, Reason> refused) ->
          bytes(json -> nodes(json, nodes, refused));
    };
  }

  private static void nodes(JsonGenerator json, List<String> nodes, Map<String, Reason> refused)
      throws IOException {
    json.writeStartObject();
    json.writeArrayFieldStart("NodeNames");
    for (String node : nodes) {
      json.writeString(node);
    }
    json.writeEndArray();
    refusals(json, "FailedNodes", refused, false);
    refusals(json, "FailedAndUnresolvableNodes", refused, true);
    json.writeStringField("Error", "");
    json.writeEndObject();
  }

  private static void refusals(
      JsonGenerator json, String key, Map<String, Reason> refused, boolean unresolvable)
      throws IOException {
    json.writeObjectFieldStart(key);
    for (var entry : refused.entrySet()) {
      if (entry.getValue().unresolvable() == unresolvable) {
        json.writeStringField(entry.getKey(), entry.getValue().sentence());
      }
    }
    json.writeEndObject();
  }

  /** A HostPriorityList. */
  public static Buffer scores(Map<String, Integer> scores) {
    return bytes(
        json -> {
          json.writeStartArray();
          for (var entry : scores.entrySet()) {
            json.writeStartObject();
            json.writeStringField("Host", entry.getKey());
            json.writeNumberField("Score", entry.getValue());
            json.writeEndObject();
          }
          json.writeEndArray();
        });
  }

  /** An ExtenderPreemptionResult: what is not in it is dropped. */
  public static Buffer victims(Map<String, Preempt.OfNode> byNode) {
    return bytes(
        json -> {
          json.writeStartObject();
          json.writeObjectFieldStart("NodeNameToMetaVictims");
          for (var entry : byNode.entrySet()) {
            json.writeObjectFieldStart(entry.getKey());
            json.writeArrayFieldStart("Pods");
            for (String uid : entry.getValue().uids()) {
              json.writeStartObject();
              json.writeStringField("UID", uid);
              json.writeEndObject();
            }
            json.writeEndArray();
            json.writeNumberField("NumPDBViolations", entry.getValue().violations());
            json.writeEndObject();
          }
          json.writeEndObject();
          json.writeEndObject();
        });
  }

  /** An ExtenderBindingResult. */
  public static Buffer bound(Optional<String> error) {
    return error(error.orElse(""));
  }

  /** The one field that a result of filter and of bind have in common. */
  public static Buffer error(String sentence) {
    return bytes(
        json -> {
          json.writeStartObject();
          json.writeStringField("Error", sentence);
          json.writeEndObject();
        });
  }

  private static Buffer bytes(Body body) {
    var out = new ByteArrayOutputStream(1_024);
    try (JsonGenerator json = FACTORY.createGenerator(out)) {
      body.write(json);
    } catch (IOException impossible) {
      throw new UncheckedIOException("memory cannot fail", impossible);
    }
    return Buffer.buffer(out.toByteArray());
  }
}
