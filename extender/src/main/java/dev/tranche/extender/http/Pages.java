package dev.tranche.extender.http;

import dev.tranche.api.Printable;
import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.placement.GpuView;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.Writer;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** Explanations and inspections as plain text and JSON. */
final class Pages {
  private static final String NODE_LINE =
      "%-28s %-4s %-26s %-9s %-8s %-8s %-8s %-9s %-9s %-6s %s%n";

  private Pages() {}

  static String explanation(JsonObject explained) {
    var text = new StringBuilder();
    text.append("pod ").append(explained.getString("pod"));
    text.append(": ").append(explained.getString("state"));
    JsonObject hold = explained.getJsonObject("hold");
    if (hold != null) {
      text.append(" on node ").append(hold.getString("node"));
      text.append(", GPUs ").append(hold.getJsonObject("replicasByGpu").encode());
      text.append(" (").append(hold.getString("stage")).append(")");
    }
    text.append('\n');
    schedulerMessage(text, explained);
    if (explained.containsKey("policy")) {
      text.append("policy ").append(explained.getString("policy"));
      String note = explained.getString("note");
      text.append(note == null ? ", decided at " + explained.getString("decidedAt") : "; " + note);
      text.append('\n');
      decided(text, explained);
    }
    return text.toString();
  }

  private static void schedulerMessage(StringBuilder text, JsonObject explained) {
    String message = explained.getString("kubeScheduler");
    if (message != null) {
      text.append("kube-scheduler's own message: ").append(Printable.message(message)).append('\n');
      explained
          .getJsonArray("whatToDo")
          .forEach(advice -> text.append("  ").append(advice).append('\n'));
    }
  }

  private static void decided(StringBuilder text, JsonObject explained) {
    JsonObject chosen = explained.getJsonObject("chosen");
    if (chosen != null) {
      text.append("\nchosen:\n");
      node(text, chosen, "chosenGpus");
    }
    int others = explained.getInteger("fittedCount") - (chosen == null ? 0 : 1);
    nodes(text, "also fitted", explained.getJsonArray("fitted"), others);
    nodes(text, "refused", explained.getJsonArray("refused"), explained.getInteger("refusedCount"));
    JsonObject byReason = explained.getJsonObject("refusedByReason");
    byReason.forEach(
        reason ->
            text.append("  ")
                .append(reason.getValue())
                .append(" × ")
                .append(reason.getKey())
                .append('\n'));
  }

  private static void nodes(StringBuilder text, String title, JsonArray nodes, int count) {
    if (!nodes.isEmpty()) {
      text.append('\n').append(title).append(" (").append(nodes.size()).append(" shown, ");
      text.append(count).append(" in all):\n");
      nodes.forEach(node -> node(text, (JsonObject) node, "gpus"));
    }
  }

  private static void node(StringBuilder text, JsonObject node, String gpus) {
    text.append("  node ").append(node.getString("node"));
    if (node.getInteger("score") != null) {
      text.append(", score ").append(node.getInteger("score"));
    }
    if (!node.getJsonArray("gpus").isEmpty()) {
      text.append(", largest hole ").append(node.getInteger("largestHole"));
    }
    if (node.getString("reason") != null) {
      text.append(": ").append(node.getString("reason"));
    }
    text.append('\n');
    for (Object each : node.getJsonArray(gpus)) {
      JsonObject gpu = (JsonObject) each;
      text.append("    ").append(Printable.message(gpu.getString("figures")));
      text.append("; SM load ")
          .append(load(gpu.getBoolean("measured"), gpu.getLong("smLoadPercent")));
      text.append(", ")
          .append(memory(gpu.getLong("memoryFreeBytes"), gpu.getLong("memoryUsableBytes")))
          .append('\n');
    }
  }

  private static String load(boolean measured, long percent) {
    return measured ? percent + " %" : "not measured";
  }

  private static String memory(long freeBytes, long usableBytes) {
    return usableBytes <= 0
        ? "memory unknown"
        : "memory free " + gibibytes(freeBytes) + " of " + gibibytes(usableBytes);
  }

  private static String gibibytes(long bytes) {
    return String.format(Locale.ROOT, "%.1f GiB", bytes / (double) (1L << 30));
  }

  /** Node by node, since of tens of thousands of GPUs the whole is long. */
  static void inspection(Inspection inspection, Writer to) throws IOException {
    to.write(
        String.format(
            NODE_LINE,
            "NODE",
            "GPU",
            "MODEL",
            "FREE",
            "SM LAST",
            "SM MEAN",
            "SM LOAD",
            "MEM FREE",
            "AGE",
            "STATE",
            "PODS"));
    for (Inspection.Node node : inspection.nodes()) {
      for (Inspection.Gpu gpu : node.gpus()) {
        to.write(line(inspection, node, gpu));
      }
      for (Hold hold : node.unplaced()) {
        to.write(node.name() + ": GPU of " + hold.key() + " unknown\n");
      }
    }
    to.write(
        "holds %s, pods that wait %d\n"
            .formatted(inspection.holdsByStage(), inspection.waitingPods()));
  }

  private static String line(Inspection all, Inspection.Node node, Inspection.Gpu gpu) {
    var view = gpu.view();
    long ageMs = all.ageMs(node, gpu);
    return String.format(
        Locale.ROOT,
        NODE_LINE,
        node.name(),
        view.index(),
        Printable.name(view.model()),
        view.freeReplicas() + "/" + view.replicas(),
        percent(view, gpu.sm()),
        percent(view, gpu.smMean()),
        percent(view, view.smLoad()),
        gibibytes(view.memoryFreeBytes()),
        ageMs < 0 ? "-" : ageMs / 1_000 + "s",
        state(node, gpu),
        gpu.holds().stream().map(h -> held(h, gpu)).collect(Collectors.joining(" ")));
  }

  private static String percent(GpuView view, double ratio) {
    return view.measured() ? Math.round(ratio * 100) + "%" : "?";
  }

  private static String state(Inspection.Node node, Inspection.Gpu gpu) {
    return switch (node.availability()) {
      case SILENT -> "silent";
      case NOT_SERVING -> "draining";
      case AVAILABLE -> gpu.view().healthy() ? gpu.view().cordoned() ? "cordoned" : "ok" : "ill";
    };
  }

  /** Replicas of another size than the GPU's of now say so: {@code =3 of 10}. */
  private static String held(Hold hold, Inspection.Gpu gpu) {
    Integer former = gpu.formerReplicas().get(hold.uid());
    String of = former == null ? "" : " of " + former;
    String replicas = hold.held().get(gpu.view().uuid()) + of;
    return hold.key() + "=" + replicas + "(" + Inspection.stage(hold) + ")";
  }

  /** Likewise. */
  static void json(Inspection inspection, Writer to) throws IOException {
    to.write("{\n\"nodes\" : [ ");
    String comma = "";
    for (Inspection.Node node : inspection.nodes()) {
      to.write(comma + json(inspection, node).encodePrettily());
      comma = ", ";
    }
    var holds = new JsonObject(Map.copyOf(inspection.holdsByStage()));
    to.write(
        " ],\n\"holdsByStage\" : %s,\n\"waitingPods\" : %d\n}\n"
            .formatted(holds.encodePrettily(), inspection.waitingPods()));
  }

  private static JsonObject json(Inspection all, Inspection.Node node) {
    var gpus = new JsonArray();
    node.gpus().forEach(gpu -> gpus.add(json(gpu, all.ageMs(node, gpu))));
    var unplaced = new JsonArray();
    node.unplaced().forEach(hold -> unplaced.add(hold.key()));
    return new JsonObject()
        .put("node", node.name())
        .put("availability", node.availability().name().toLowerCase(Locale.ROOT))
        .put("gpus", gpus)
        .put("podsOnUnknownGpus", unplaced);
  }

  private static JsonObject json(Inspection.Gpu gpu, long ageMs) {
    var view = gpu.view();
    var holds = new JsonArray();
    for (Hold hold : gpu.holds()) {
      holds.add(
          new JsonObject()
              .put("pod", hold.key())
              .put("uid", hold.uid())
              .put("replicas", hold.held().get(view.uuid()))
              .put("replicasPerGpu", gpu.formerReplicas().getOrDefault(hold.uid(), view.replicas()))
              .put("stage", Inspection.stage(hold)));
    }
    return new JsonObject()
        .put("gpu", view.index())
        .put("uuid", view.uuid())
        .put("model", view.model())
        .put("resource", view.resource())
        .put("replicas", view.replicas())
        .put("freeReplicas", view.freeReplicas())
        .put("strayReplicas", gpu.strayReplicas())
        .put("healthy", view.healthy())
        .put("cordoned", view.cordoned())
        .put("measured", view.measured())
        .put("smPercent", Math.round(gpu.sm() * 100))
        .put("smMeanPercent", Math.round(gpu.smMean() * 100))
        .put("smLoadPercent", Math.round(view.smLoad() * 100))
        .put("memoryUsedBytes", gpu.memoryUsedBytes())
        .put("memoryFreeBytes", view.memoryFreeBytes())
        .put("memoryUsableBytes", view.memoryUsableBytes())
        .put("readingAgeMs", ageMs)
        .put("holds", holds);
  }
}
