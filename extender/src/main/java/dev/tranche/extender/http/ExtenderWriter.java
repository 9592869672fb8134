package dev.tranche.extender.http;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonProcessingException;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.verb.Filter;
import dev.tranche.extender.verb.Preempt;
import dev.tranche.process.client.KubernetesJson;
import io.vertx.core.buffer.Buffer;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Encodes responses as JSON, with the capitalised keys of kube-scheduler's types. */
public final class ExtenderWriter {
  private ExtenderWriter() {}

  private record FilterResult(
      @JsonProperty("NodeNames") List<String> nodeNames,
      @JsonProperty("FailedNodes") Map<String, String> failed,
      @JsonProperty("FailedAndUnresolvableNodes") Map<String, String> unresolvable,
      @JsonProperty("Error") String error) {}

  private record HostPriority(
      @JsonProperty("Host") String host, @JsonProperty("Score") int score) {}

  public static Buffer filter(Filter.Answer answer) {
    return switch (answer) {
      case Filter.Answer.Undecided(String error) -> error(error);
      case Filter.Answer.Nodes(List<String> nodes, Map<Reason, List<String>> refused) ->
          bytes(new FilterResult(nodes, sentences(refused, false), sentences(refused, true), ""));
    };
  }

  private static Map<String, String> sentences(
      Map<Reason, List<String>> refused, boolean unresolvable) {
    var sentences = new LinkedHashMap<String, String>();
    refused.forEach(
        (reason, nodes) -> {
          if (reason.unresolvable == unresolvable) {
            nodes.forEach(node -> sentences.put(node, reason.sentence));
          }
        });
    return sentences;
  }

  /** Encodes a HostPriorityList. */
  public static Buffer scores(Map<String, Integer> scores) {
    return bytes(
        scores.entrySet().stream().map(e -> new HostPriority(e.getKey(), e.getValue())).toList());
  }

  /** Encodes an ExtenderPreemptionResult: kube-scheduler drops the nodes that aren't in it. */
  public static Buffer victims(Map<String, Preempt.VictimUids> byNode) {
    return bytes(Map.of("NodeNameToMetaVictims", byNode));
  }

  /** Encodes the error field, the only one that the results of filter and bind have in common. */
  public static Buffer error(String sentence) {
    return bytes(Map.of("Error", sentence));
  }

  private static Buffer bytes(Object answer) {
    try {
      return Buffer.buffer(KubernetesJson.MAPPER.writeValueAsBytes(answer));
    } catch (JsonProcessingException impossible) {
      throw new UncheckedIOException("memory cannot fail", impossible);
    }
  }
}
