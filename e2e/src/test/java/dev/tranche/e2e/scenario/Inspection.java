package dev.tranche.e2e.scenario;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.e2e.install.LocalApi;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** What every extender replica believes of every GPU, by the read API. */
public record Inspection(List<JsonNode> replicas) {
  private static final long MIB = 1L << 20;

  static Inspection of(Tranche tranche) {
    return of(tranche.client(), tranche.parts("extender"));
  }

  /**
   * @param extenders those that do not answer are left out
   */
  public static Inspection of(KubernetesClient client, List<Pod> extenders) {
    var answers = LocalApi.all(client, extenders, "/api/v1/gpus?limit=500");
    return new Inspection(answers.stream().map(LocalApi.Answer::json).toList());
  }

  /** Whether all replicas know about this load of every GPU of a node; SM load is averaged. */
  boolean allMatch(String node, int smPercent, int usedMib, int tolerancePercent) {
    return !replicas.isEmpty()
        && replicas.stream()
            .map(replica -> gpus(replica).filter(isOn(node)).toList())
            .allMatch(
                gpus ->
                    !gpus.isEmpty()
                        && gpus.stream()
                            .allMatch(gpu -> measures(gpu, smPercent, usedMib, tolerancePercent)));
  }

  private static boolean measures(JsonNode gpu, int smPercent, int usedMib, int tolerancePercent) {
    JsonNode measured = gpu.path("measured");
    return measured.hasNonNull("sm")
        && Math.abs(100 * amount(measured, "sm") - smPercent) <= tolerancePercent
        && (long) amount(measured, "memory") / MIB == usedMib;
  }

  /** Whether no extender knows of any hold, whatever its stage. */
  boolean nothingHeld() {
    return !replicas.isEmpty()
        && replicas.stream()
            .flatMap(Inspection::gpus)
            .allMatch(gpu -> gpu.get("holderCount").asInt() == 0);
  }

  /** Replicas by uuid that one extender knows to be held, each confirmed by the kubelet. */
  public List<Map<String, Integer>> confirmedReplicas(String node) {
    return replicas.stream().map(replica -> confirmed(replica, node)).toList();
  }

  private static Map<String, Integer> confirmed(JsonNode replica, String node) {
    var held = new TreeMap<String, Integer>();
    gpus(replica)
        .filter(isOn(node))
        .forEach(
            gpu ->
                gpu.get("holders")
                    .valueStream()
                    .filter(hold -> hold.get("stage").asText().equals("Confirmed"))
                    .forEach(
                        hold ->
                            held.merge(
                                gpu.get("uuid").asText(),
                                hold.get("replicas").asInt(),
                                Integer::sum)));
    return held;
  }

  private static Predicate<JsonNode> isOn(String node) {
    return gpu -> gpu.get("node").asText().equals(node);
  }

  private static double amount(JsonNode of, String field) {
    return Quantity.getAmountInBytes(new Quantity(of.get(field).asText())).doubleValue();
  }

  private static Stream<JsonNode> gpus(JsonNode replica) {
    return replica.get("items").valueStream();
  }
}
