package dev.tranche.e2e.demo;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.tranche.api.Names;
import dev.tranche.e2e.install.LocalApi;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A table of which pod went where, and why not elsewhere, from the extender's read API. */
final class Table {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final double GIB = 1L << 30;

  private static final String NOTE =
      """

      SCORE is 0 to 10. The node with the highest one gets the pod, and kube-scheduler chooses among equals.
      A pod that fits only one node needs no score (–). LOAD BEFORE is the SM load and the free memory at the decision.
      The load is the mean of what NVML measured, plus the shares of pods that are too recent to show in it.
      It can be more than 100 %.
      """;

  private static final List<String> HEAD =
      List.of("POD", "REQUEST", "NODE", "GPU", "SCORE", "LOAD BEFORE");

  private Table() {}

  static String of(Tranche tranche, List<Pod> pods) {
    var rows = new ArrayList<List<String>>();
    pods.forEach(pod -> rows.addAll(rows(pod, explanation(tranche, pod))));
    return of(rows);
  }

  static String of(List<List<String>> rows) {
    return aligned(Stream.concat(Stream.of(HEAD), rows.stream()).toList()) + NOTE;
  }

  /** Returns the decision for a pod, from the extender replica that has made it. */
  private static Optional<JsonNode> explanation(Tranche tranche, Pod pod) {
    String path =
        "/api/v1/pods/" + pod.getMetadata().getNamespace() + "/" + pod.getMetadata().getName();
    return tranche.queryReadApi(path).stream()
        .map(LocalApi.Answer::json)
        .map(answer -> answer.path("decision"))
        .filter(decision -> decision.has("chosen"))
        .findFirst();
  }

  /**
   * Returns a row for each GPU of a pod, and one for each place where the pod is not.
   *
   * @param decision the pod's decision in the read API, or empty if no extender has it
   */
  static List<List<String>> rows(Pod pod, Optional<JsonNode> decision) {
    JsonNode chosen = decision.map(d -> d.get("chosen")).orElse(JSON.createObjectNode());
    String name = pod.getMetadata().getName();
    String node = String.valueOf(pod.getSpec().getNodeName());
    String score = chosen.hasNonNull("score") ? chosen.get("score").asText() : "–";
    var rows = new ArrayList<List<String>>();
    for (JsonNode gpu : chosen.path("chosenGpus")) {
      String which = gpu.get("index").asInt() + " " + gpu.get("model").asText();
      rows.add(
          rows.isEmpty()
              ? List.of(name, requested(pod), node, which, score, load(gpu))
              : List.of("", "", "", which, "", load(gpu)));
    }
    if (rows.isEmpty()) {
      rows.add(List.of(name, requested(pod), node, "no extender remembers"));
    }
    decision.stream().flatMap(Table::losers).forEach(each -> rows.add(List.of("", "not " + each)));
    return rows;
  }

  private static String requested(Pod pod) {
    Map<String, String> annotations =
        Optional.ofNullable(pod.getMetadata().getAnnotations()).orElse(Map.of());
    String fraction = annotations.get(Names.GPU_FRACTION);
    if (fraction == null) {
      return annotations.containsKey(Names.GPUS_REQUESTED) ? "1 whole GPU" : "1 replica";
    }
    String count = annotations.get(Names.GPU_COUNT);
    return count == null ? fraction : fraction + " of " + count + " GPUs";
  }

  private static String load(JsonNode gpu) {
    if (!gpu.at("/effective/sm").isTextual()) {
      return "not measured";
    }
    return String.format(
        Locale.ROOT,
        "SM %s, %.0f of %.0f GiB free",
        percent(gpu),
        amount(gpu.at("/effective/memoryFree")) / GIB,
        amount(gpu.get("memory")) / GIB);
  }

  private static Stream<String> losers(JsonNode decision) {
    Stream<String> beside =
        stream(decision.at("/chosen/gpus"))
            .filter(gpu -> !isChosen(decision, gpu))
            .map(gpu -> "its GPU " + gpu.get("index").asInt() + ": SM " + percent(gpu));
    Stream<String> fitted =
        stream(decision.get("fitted"))
            .map(
                node ->
                    "%s: score %d, SM %s"
                        .formatted(
                            node.get("node").asText(),
                            node.path("score").asInt(),
                            stream(node.get("gpus"))
                                .map(Table::percent)
                                .collect(Collectors.joining(" and "))));
    Stream<String> refused =
        stream(decision.get("refused"))
            .map(node -> node.get("node").asText() + ": " + node.path("message").asText());
    return Stream.of(beside, fitted, refused).flatMap(s -> s);
  }

  private static boolean isChosen(JsonNode decision, JsonNode gpu) {
    return stream(decision.at("/chosen/chosenGpus"))
        .anyMatch(chosen -> chosen.get("uuid").equals(gpu.get("uuid")));
  }

  private static String percent(JsonNode gpu) {
    JsonNode sm = gpu.at("/effective/sm");
    return sm.isTextual() ? Math.round(100 * amount(sm)) + " %" : "not measured";
  }

  static double amount(JsonNode quantity) {
    return Quantity.getAmountInBytes(new Quantity(quantity.asText("0"))).doubleValue();
  }

  private static Stream<JsonNode> stream(JsonNode array) {
    return array.valueStream();
  }

  /** Columns as wide as their widest cell; the last cell of a row ends where it ends. */
  static String aligned(List<List<String>> rows) {
    var table = new StringBuilder();
    for (List<String> row : rows) {
      for (int column = 0; column < row.size(); column++) {
        boolean last = column == row.size() - 1;
        table.append(row.get(column));
        if (!last) {
          table.append(" ".repeat(width(rows, column) - row.get(column).length() + 2));
        }
      }
      table.append('\n');
    }
    return table.toString();
  }

  private static int width(List<List<String>> rows, int column) {
    return rows.stream()
        .filter(row -> column < row.size() - 1)
        .mapToInt(row -> row.get(column).length())
        .max()
        .orElse(0);
  }
}
