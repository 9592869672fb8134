package dev.tranche.extender.readapi.table;

import static dev.tranche.extender.readapi.table.Cells.age;
import static dev.tranche.extender.readapi.table.Cells.amount;
import static dev.tranche.extender.readapi.table.Cells.at;
import static dev.tranche.extender.readapi.table.Cells.gpus;
import static dev.tranche.extender.readapi.table.Cells.memory;
import static dev.tranche.extender.readapi.table.Cells.objects;
import static dev.tranche.extender.readapi.table.Cells.percent;
import static dev.tranche.extender.readapi.table.Cells.text;

import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Writes lists as tables. A column is a header and a function that returns a row's cell. */
final class Tables {
  /** Holders that are shown of one GPU; the others are only counted. */
  private static final int HOLDERS_MAX = 5;

  private static final List<Column> NODES =
      List.of(
          Column.of("NODE", node -> text(node, "node")),
          Column.of("GPUS", node -> gpus(node, "total", "gpus")),
          Column.wide("HEALTHY", node -> gpus(node, "healthy", "gpus")),
          Column.of("GRANTED", node -> gpus(node, "granted", "gpus")),
          Column.of("GRANTED%", node -> share(node, "granted")),
          Column.wide("MEASURED", node -> text(node, "used", "measuredGpus")),
          Column.of("SM%", Tables::load),
          Column.wide("MEMORY-GRANTED", node -> memory(node, "granted", "memory")),
          Column.of(
              "MEMORY-USED",
              node -> measured(node) ? memory(node, "used", "memory") : TextTable.UNKNOWN),
          Column.of("MEMORY", node -> memory(node, "total", "memory")));

  private static final List<Column> GPUS =
      List.of(
          Column.of("NODE", gpu -> text(gpu, "node")),
          Column.of("GPU", gpu -> text(gpu, "index")),
          Column.of("MODEL", gpu -> text(gpu, "model")),
          Column.of("GRANTED", gpu -> gpus(gpu, "granted", "gpus")),
          Column.of("FREE", gpu -> text(gpu, "freeReplicas") + "/" + text(gpu, "replicas")),
          Column.of("SM%", gpu -> percent(gpu, "measured", "sm")),
          Column.wide("EFFECTIVE-SM%", gpu -> percent(gpu, "effective", "sm")),
          Column.of("MEMORY-USED", gpu -> memory(gpu, "measured", "memory")),
          Column.wide("MEMORY-FREE", gpu -> memory(gpu, "effective", "memoryFree")),
          Column.of("MEMORY", gpu -> memory(gpu, "memory")),
          Column.of("HEALTH", gpu -> text(gpu, "health")),
          Column.of("PODS", gpu -> text(gpu, "holderCount")),
          new Column("READING", true, (gpu, time) -> age(at(gpu, "measured", "time"), time)),
          Column.wide("UUID", gpu -> text(gpu, "uuid")),
          Column.wide("RESOURCE", gpu -> text(gpu, "resource")),
          Column.wide("HOLDERS", Tables::holders));

  private static final List<Column> PODS =
      List.of(
          Column.of("NAMESPACE", pod -> text(pod, "namespace")),
          Column.of("NAME", pod -> text(pod, "name")),
          Column.of("STATE", pod -> text(pod, "state")),
          Column.of("NODE", pod -> text(pod, "node")),
          Column.of("GPU", Tables::indices),
          Column.of("GRANTED", pod -> granted(pod, "gpus")),
          Column.of("SM%", pod -> used(pod, "gpus")),
          Column.wide("MEMORY-GRANTED", pod -> granted(pod, "memory")),
          Column.of("MEMORY-USED", pod -> used(pod, "memory")),
          Column.wide("RESOURCE", pod -> text(pod, "resource")),
          Column.wide("STAGE", pod -> text(pod, "stage")),
          Column.of("WAITING", pod -> text(pod, "waiting", "reason")),
          Column.wide("BECAUSE", pod -> text(pod, "waiting", "message")));

  private Tables() {}

  /**
   * @param wide whether the column is shown only with {@code -o wide}
   * @param cell returns a row's cell, given the time of the answer
   */
  private record Column(String name, boolean wide, BiFunction<JsonObject, Instant, String> cell) {
    static Column of(String name, Function<JsonObject, String> cell) {
      return new Column(name, false, (row, time) -> cell.apply(row));
    }

    static Column wide(String name, Function<JsonObject, String> cell) {
      return new Column(name, true, (row, time) -> cell.apply(row));
    }
  }

  static String nodes(JsonObject summary, boolean wide) {
    return table(NODES, summary, "nodes", wide);
  }

  static String gpuList(JsonObject list, boolean wide) {
    return table(GPUS, list, "items", wide);
  }

  static String podList(JsonObject list, boolean wide) {
    return table(PODS, list, "items", wide);
  }

  private static String table(List<Column> all, JsonObject answer, String rows, boolean wide) {
    List<Column> columns = all.stream().filter(column -> wide || !column.wide()).toList();
    var time = Instant.parse(answer.getString("time"));
    var table = new TextTable(columns.stream().map(Column::name).toList());
    objects(answer, rows)
        .forEach(
            row ->
                table.add(columns.stream().map(column -> column.cell().apply(row, time)).toList()));
    return table.text() + more(answer.getJsonObject("metadata"));
  }

  /**
   * Returns the line after the last row if there are more. No row begins with {@code #}, as the
   * first column is a Kubernetes name.
   */
  private static String more(JsonObject metadata) {
    String position = metadata.getString("continue");
    return position == null
        ? ""
        : "# %d more: continue=%s\n".formatted(metadata.getInteger("remainingItemCount"), position);
  }

  private static String share(JsonObject node, String of) {
    double total = amount(text(node, "total", "gpus"));
    return total == 0 ? TextTable.UNKNOWN : percent(amount(text(node, of, "gpus")) / total);
  }

  private static boolean measured(JsonObject node) {
    return node.getJsonObject("used").getInteger("measuredGpus") > 0;
  }

  /** Returns the mean SM load of the measured GPUs. */
  private static String load(JsonObject node) {
    return measured(node)
        ? percent(
            amount(text(node, "used", "gpus"))
                / node.getJsonObject("used").getInteger("measuredGpus"))
        : TextTable.UNKNOWN;
  }

  private static String holders(JsonObject gpu) {
    var names = new ArrayList<String>();
    objects(gpu, "holders").stream()
        .limit(HOLDERS_MAX)
        .forEach(holder -> names.add(text(holder, "namespace") + "/" + text(holder, "name")));
    int others = gpu.getInteger("holderCount") - names.size();
    if (others > 0) {
      names.add("+" + others);
    }
    return String.join(",", names);
  }

  private static String indices(JsonObject pod) {
    return objects(pod, "gpus").stream()
        .map(gpu -> text(gpu, "index"))
        .collect(Collectors.joining(","));
  }

  /** Returns no text, not {@code <unknown>}, for a waiting pod: it is known to hold nothing. */
  private static String granted(JsonObject pod, String what) {
    if (at(pod, "granted", what) == null && at(pod, "stage") == null) {
      return "";
    }
    return what.equals("gpus") ? gpus(pod, "granted", what) : memory(pod, "granted", what);
  }

  private static String used(JsonObject pod, String what) {
    if (at(pod, "used", what) == null && at(pod, "stage") == null) {
      return "";
    }
    return what.equals("gpus") ? percent(pod, "used", what) : memory(pod, "used", what);
  }
}
