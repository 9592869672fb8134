package dev.tranche.extender.readapi.row;

import dev.tranche.api.Printable;
import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.readapi.query.ListQuery;
import dev.tranche.extender.readapi.query.ListQuery.Field;
import dev.tranche.extender.readapi.row.Snapshot.GpuRow;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A GPU as the API shows it. */
public final class GpuJson {
  public static final List<Field> FIELDS =
      List.of(
          Field.text("node"),
          Field.text("model"),
          Field.text("uuid"),
          new Field("health", Health.NAMES),
          Field.text("namespace"));

  /** Holders that are shown of one GPU; the others are only counted. */
  static final int HOLDERS_MAX = 100;

  private GpuJson() {}

  public static boolean admitted(GpuRow row, ListQuery query) {
    GpuView view = row.gpu().view();
    return query.admits("node", row.node().name())
        && query.admits("model", view.model())
        && query.admits("uuid", view.uuid())
        && query.admits("health", Health.of(row.node(), row.gpu()).toString())
        && (!query.filters().containsKey("namespace")
            || row.gpu().holds().stream()
                .anyMatch(hold -> query.admits("namespace", namespace(hold))));
  }

  public static JsonObject of(GpuRow row) {
    return json(row, readingTime(row));
  }

  /** When the last reading was taken; null without one. */
  public static @Nullable Instant readingTime(GpuRow row) {
    return row.gpu().ageMs() < 0 ? null : row.node().at().minusMillis(row.gpu().ageMs());
  }

  /**
   * @param readingTime when the last reading was taken
   */
  public static JsonObject json(GpuRow row, @Nullable Instant readingTime) {
    Inspection.Gpu gpu = row.gpu();
    GpuView view = gpu.view();
    var json =
        identity(row)
            .put("model", Printable.name(view.model()))
            .put("resource", view.resource())
            .put("replicas", view.replicas())
            .put("freeReplicas", view.freeReplicas())
            .put("memory", Quantities.bytes(view.memoryUsableBytes()))
            .put("granted", granted(view))
            .put("health", Health.of(row.node(), gpu).toString());
    if (!view.unfitBecause().isEmpty()) {
      json.put("healthReason", Printable.message(view.unfitBecause()));
    }
    return putUsage(json, row, readingTime);
  }

  /** Returns the fields that identify a GPU. */
  public static JsonObject identity(GpuRow row) {
    GpuView view = row.gpu().view();
    return new JsonObject()
        .put("node", row.node().name())
        .put("index", view.index())
        .put("uuid", view.uuid());
  }

  /** Returns whether two rows of one GPU differ at most in what {@link #putUsage} writes. */
  public static boolean sameExceptUsage(GpuRow one, GpuRow two) {
    GpuView view = one.gpu().view();
    GpuView other = two.gpu().view();
    return view.replicas() == other.replicas()
        && view.freeReplicas() == other.freeReplicas()
        && view.memoryUsableBytes() == other.memoryUsableBytes()
        && view.model().equals(other.model())
        && view.resource().equals(other.resource())
        && view.unfitBecause().equals(other.unfitBecause())
        && Health.of(one.node(), one.gpu()) == Health.of(two.node(), two.gpu());
  }

  /**
   * Writes the fields that change with each reading.
   *
   * @param readingTime when the last reading was taken; null without one
   */
  public static JsonObject putUsage(JsonObject json, GpuRow row, @Nullable Instant readingTime) {
    Inspection.Gpu gpu = row.gpu();
    if (readingTime != null) {
      json.put("measured", measured(gpu, readingTime));
    }
    json.put("effective", effective(gpu.view()));
    var holders = new JsonArray();
    gpu.holds().stream().limit(HOLDERS_MAX).forEach(hold -> holders.add(holder(gpu, hold)));
    return json.put("holders", holders).put("holderCount", gpu.holds().size());
  }

  /** Returns what is not free: held by pods, or possibly held by pods whose GPU is unknown. */
  private static JsonObject granted(GpuView view) {
    int replicas = view.replicas() - view.freeReplicas();
    return new JsonObject()
        .put("gpus", Quantities.gpus((double) replicas / view.replicas()))
        .put("memory", Quantities.bytes(view.grantedBytes(replicas)));
  }

  /** Returns the last reading. If it is too old, its memory is shown but not its SM load. */
  private static JsonObject measured(Inspection.Gpu gpu, Instant readingTime) {
    boolean fresh = gpu.view().measured();
    var json =
        new JsonObject()
            .put("time", readingTime.toString())
            .put("fresh", fresh)
            .put("memory", Quantities.bytes(gpu.memoryUsedBytes()));
    if (fresh) {
      json.put("sm", Quantities.gpus(gpu.smMean())).put("smLast", Quantities.gpus(gpu.sm()));
    }
    return json;
  }

  /** Returns the effective use, which pods are placed by. */
  private static JsonObject effective(GpuView view) {
    var json = new JsonObject().put("memoryFree", Quantities.bytes(view.memoryFreeBytes()));
    return view.measured() ? json.put("sm", Quantities.gpus(view.smLoad())) : json;
  }

  private static JsonObject holder(Inspection.Gpu gpu, Hold hold) {
    var json =
        new JsonObject()
            .put("namespace", namespace(hold))
            .put("name", hold.key().substring(hold.key().indexOf('/') + 1))
            .put("uid", hold.uid())
            .put("replicas", replicas(gpu, hold))
            .put("replicasPerGpu", replicasPerGpu(gpu, hold))
            .put("stage", HoldStages.name(hold));
    gpu.reading()
        .ifPresent(
            reading -> {
              Double sm = reading.smOf(hold.key());
              if (sm != null && gpu.view().measured()) {
                json.put("sm", Quantities.gpus(sm));
              }
              Long memory = reading.memoryBytesOf(hold.key());
              if (memory != null) {
                json.put("memory", Quantities.bytes(memory));
              }
            });
    return json;
  }

  static int replicas(Inspection.Gpu gpu, Hold hold) {
    return hold.held().getOrDefault(gpu.view().uuid(), 0);
  }

  /** Returns R of the hold's share, which may be that of an earlier config. */
  public static int replicasPerGpu(Inspection.Gpu gpu, Hold hold) {
    return hold.replicasPerGpu() > 0
        ? hold.replicasPerGpu()
        : gpu.formerReplicas().getOrDefault(hold.uid(), gpu.view().replicas());
  }

  static String namespace(Hold hold) {
    return hold.key().substring(0, hold.key().indexOf('/'));
  }
}
