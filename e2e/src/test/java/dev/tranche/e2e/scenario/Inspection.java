package dev.tranche.e2e.scenario;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.tranche.e2e.install.Tranche;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** What every extender replica believes: {@code /inspect}. */
public record Inspection(List<JsonNode> replicas) {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final long MIB = 1L << 20;

  static Inspection of(Tranche tranche) {
    return of(tranche.ask("/inspect", "application/json"));
  }

  /** Of the pages themselves. */
  public static Inspection of(List<String> pages) {
    return new Inspection(pages.stream().map(Inspection::parse).toList());
  }

  private static JsonNode parse(String json) {
    try {
      return JSON.readTree(json);
    } catch (JsonProcessingException e) {
      throw new AssertionError(json, e);
    }
  }

  /** Whether all replicas know about this load of every GPU of a node; SM load is averaged. */
  boolean allMatch(String node, int smPercent, int usedMib, int tolerancePercent) {
    return replicas.stream()
        .flatMap(replica -> gpus(replica, node))
        .allMatch(
            gpu ->
                Math.abs(gpu.get("smMeanPercent").asInt() - smPercent) <= tolerancePercent
                    && gpu.get("memoryUsedBytes").asLong() / MIB == usedMib);
  }

  /** Whether no extender knows of any hold, whatever its stage. */
  boolean nothingHeld() {
    return replicas.stream()
        .flatMap(replica -> stream(replica.get("nodes")))
        .flatMap(node -> stream(node.get("gpus")))
        .allMatch(gpu -> gpu.get("holds").isEmpty());
  }

  /** Replicas by uuid that one extender knows to be held, each confirmed by the kubelet. */
  public List<Map<String, Integer>> confirmedReplicas(String node) {
    return replicas.stream().map(replica -> confirmed(replica, node)).toList();
  }

  private static Map<String, Integer> confirmed(JsonNode replica, String node) {
    var held = new TreeMap<String, Integer>();
    gpus(replica, node)
        .forEach(
            gpu ->
                stream(gpu.get("holds"))
                    .filter(hold -> hold.get("stage").asText().equals("confirmed"))
                    .forEach(
                        hold ->
                            held.merge(
                                gpu.get("uuid").asText(),
                                hold.get("replicas").asInt(),
                                Integer::sum)));
    return held;
  }

  private static Stream<JsonNode> gpus(JsonNode replica, String node) {
    return stream(replica.get("nodes"))
        .filter(n -> n.get("node").asText().equals(node))
        .flatMap(n -> stream(n.get("gpus")));
  }

  private static Stream<JsonNode> stream(JsonNode array) {
    return StreamSupport.stream(array.spliterator(), false);
  }
}
