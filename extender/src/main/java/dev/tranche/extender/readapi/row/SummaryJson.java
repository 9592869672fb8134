package dev.tranche.extender.readapi.row;

import dev.tranche.api.Printable;
import dev.tranche.extender.readapi.query.ListQuery;
import dev.tranche.extender.readapi.query.Page;
import dev.tranche.extender.readapi.row.Snapshot.GpuRow;
import dev.tranche.extender.readapi.row.Snapshot.PodRow;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The GPUs in total, healthy, granted and in use, with their memory; and the pods that wait. */
public final class SummaryJson {
  /** Models that are shown, those with most GPUs; the others are only counted. */
  static final int MODELS_MAX = 100;

  private final WaitingReasons reasons;

  public SummaryJson(WaitingReasons reasons) {
    this.reasons = reasons;
  }

  /** The sums of one cluster, model or node. */
  private static final class Sums {
    private final String name;
    private int total;
    private long totalBytes;
    private int healthy;
    private long healthyBytes;
    private double granted;
    private long grantedBytes;
    private int measured;
    private double usedSm;
    private long usedBytes;

    Sums(String name) {
      this.name = name;
    }

    int total() {
      return total;
    }

    void add(GpuRow row) {
      var gpu = row.gpu();
      var view = gpu.view();
      int replicas = view.replicas() - view.freeReplicas();
      total++;
      totalBytes += view.memoryUsableBytes();
      if (Health.of(row.node(), gpu) == Health.HEALTHY) {
        healthy++;
        healthyBytes += view.memoryUsableBytes();
      }
      granted += (double) replicas / view.replicas();
      grantedBytes += view.grantedBytes(replicas);
      if (view.measured()) {
        measured++;
        usedSm += gpu.smMean();
        usedBytes += gpu.memoryUsedBytes();
      }
    }

    JsonObject json() {
      return new JsonObject()
          .put("total", amount(total, totalBytes))
          .put("healthy", amount(healthy, healthyBytes))
          .put("granted", amount(granted, grantedBytes))
          .put("used", amount(usedSm, usedBytes).put("measuredGpus", measured));
    }

    JsonObject named(String field) {
      return new JsonObject().put(field, Printable.name(name)).mergeIn(json());
    }

    private static JsonObject amount(double gpus, long bytes) {
      return new JsonObject()
          .put("gpus", Quantities.gpus(gpus))
          .put("memory", Quantities.bytes(bytes));
    }
  }

  public JsonObject of(Snapshot snapshot, ListQuery query, Instant now) {
    var nodes = new TreeMap<String, Sums>();
    for (GpuRow row : snapshot.gpus) {
      nodes.computeIfAbsent(row.node().name(), Sums::new).add(row);
    }
    return new JsonObject()
        .put("time", snapshot.inspection.at().toString())
        .mergeIn(withoutNodes(snapshot))
        .mergeIn(nodes(new ArrayList<>(nodes.values()), query, now));
  }

  /** Returns the summary without its nodes and without the time. */
  public JsonObject withoutNodes(Snapshot snapshot) {
    var cluster = new Sums("");
    var models = new TreeMap<String, Sums>();
    for (GpuRow row : snapshot.gpus) {
      cluster.add(row);
      models.computeIfAbsent(row.gpu().view().model(), Sums::new).add(row);
    }
    var shown = new JsonArray();
    models.values().stream()
        .sorted(Comparator.comparingInt(Sums::total).reversed())
        .limit(MODELS_MAX)
        .forEach(model -> shown.add(model.named("model")));
    return new JsonObject()
        .put("cluster", cluster.json())
        .put("models", shown)
        .put("modelCount", models.size())
        .put("waitingPods", waiting(snapshot.pods));
  }

  private static JsonObject nodes(List<Sums> nodes, ListQuery query, Instant now) {
    return Page.of(
        "nodes", nodes, sums -> sums.name, all -> true, sums -> sums.named("node"), query, now);
  }

  private JsonObject waiting(List<PodRow> pods) {
    Map<String, Integer> counts = new TreeMap<>();
    Map<String, String> messages = new TreeMap<>();
    int total = 0;
    for (PodRow row : pods) {
      if (row.state() == PodState.WAITING) {
        var why = reasons.of(row.pod());
        total++;
        counts.merge(why.reason(), 1, Integer::sum);
        messages.put(why.reason(), why.message());
      }
    }
    var byReason = new JsonArray();
    counts.forEach(
        (reason, count) ->
            byReason.add(
                new JsonObject()
                    .put("reason", reason)
                    .put("message", messages.get(reason))
                    .put("pods", count)));
    return new JsonObject().put("total", total).put("byReason", byReason);
  }
}
