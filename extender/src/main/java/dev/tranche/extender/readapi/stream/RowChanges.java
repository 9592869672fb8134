package dev.tranche.extender.readapi.stream;

import dev.tranche.extender.readapi.row.GpuJson;
import dev.tranche.extender.readapi.row.PodJson;
import dev.tranche.extender.readapi.row.PodState;
import dev.tranche.extender.readapi.row.Snapshot;
import dev.tranche.extender.readapi.row.Snapshot.GpuRow;
import dev.tranche.extender.readapi.row.Snapshot.PodRow;
import dev.tranche.extender.readapi.row.SummaryJson;
import dev.tranche.extender.readapi.row.WaitingReasons.Why;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What the stream's readers know, and what has changed since. Rows are compared before they are
 * written, so that an idle cluster costs little. Used by one thread at a time.
 */
public final class RowChanges {
  private final PodJson podJson;
  private final SummaryJson summaryJson;
  private Map<String, SentGpu> gpus = Map.of();
  private Map<String, SentPod> pods = Map.of();
  private JsonObject summary = new JsonObject();
  private String time = "";

  RowChanges(PodJson podJson, SummaryJson summaryJson) {
    this.podJson = podJson;
    this.summaryJson = summaryJson;
  }

  sealed interface Change {
    record None() implements Change {}

    /** All rows are sent anew, and readers discard what they know. */
    record Reset() implements Change {}

    record Some(Buffer json) implements Change {}
  }

  /** A row as it was last sent to the readers. */
  private interface SentRow<S> {
    /** Returns whether nothing can differ. */
    boolean isUnchangedFrom(S other);

    /** Returns whether only the measured fields can differ, as in most rows. */
    boolean sameExceptUsage(S other);

    /** Returns the fields by which readers identify the row. */
    JsonObject identity();

    /** Returns the measured fields. */
    JsonObject usage();

    JsonObject json();
  }

  /**
   * @param readingTime when its reading was taken, as first sent: the clocks of two snapshots may
   *     differ by a millisecond
   */
  private record SentGpu(GpuRow row, @Nullable Instant readingTime) implements SentRow<SentGpu> {
    String uuid() {
      return row.gpu().view().uuid();
    }

    @Override
    @SuppressWarnings("ReferenceEquality")
    public boolean isUnchangedFrom(SentGpu other) {
      return row == other.row;
    }

    @Override
    public boolean sameExceptUsage(SentGpu other) {
      return GpuJson.sameExceptUsage(row, other.row);
    }

    @Override
    public JsonObject identity() {
      return GpuJson.identity(row);
    }

    @Override
    public JsonObject usage() {
      return GpuJson.putUsage(new JsonObject(), row, readingTime);
    }

    @Override
    public JsonObject json() {
      return GpuJson.json(row, readingTime);
    }
  }

  private record SentPod(PodRow row, @Nullable Why why) implements SentRow<SentPod> {
    @Override
    @SuppressWarnings("ReferenceEquality")
    public boolean isUnchangedFrom(SentPod other) {
      return row == other.row && Objects.equals(why, other.why);
    }

    @Override
    public boolean sameExceptUsage(SentPod other) {
      return Objects.equals(why, other.why) && PodJson.sameExceptUsage(row, other.row);
    }

    @Override
    public JsonObject identity() {
      return PodJson.identity(row);
    }

    @Override
    public JsonObject usage() {
      return PodJson.putUsage(new JsonObject(), row);
    }

    @Override
    public JsonObject json() {
      return PodJson.of(row, why);
    }
  }

  /** Forgets all that readers know, until the next snapshot. */
  void forget() {
    gpus = Map.of();
    pods = Map.of();
    summary = new JsonObject();
    time = "";
  }

  Change next(Snapshot snapshot) {
    Map<String, SentGpu> gpusBefore = gpus;
    Map<String, SentPod> podsBefore = pods;
    JsonObject summaryBefore = summary;
    gpus = sentGpus(snapshot, gpusBefore);
    pods = sentPods(snapshot);
    summary = summaryJson.withoutNodes(snapshot);
    time = snapshot.inspection.at().toString();
    List<String> gpusRemoved = removed(gpusBefore, gpus);
    if (sharesUuid(gpusRemoved, gpusBefore)) {
      return new Change.Reset();
    }
    var fields = new ArrayList<Buffer>();
    array("gpus", changed(gpusBefore, gpus)).ifPresent(fields::add);
    var uuids = new JsonArray();
    gpusRemoved.forEach(key -> uuids.add(uuid(gpusBefore, key)));
    array("gpusRemoved", uuids).ifPresent(fields::add);
    array("pods", changed(podsBefore, pods)).ifPresent(fields::add);
    array("podsRemoved", new JsonArray(removed(podsBefore, pods))).ifPresent(fields::add);
    if (!summary.equals(summaryBefore)) {
      fields.add(field("summary", summary.toBuffer()));
    }
    return fields.isEmpty() ? new Change.None() : new Change.Some(object(fields));
  }

  /** Returns all that readers know by now. */
  Buffer snapshotJson() {
    Buffer json = Buffer.buffer("{\"time\":\"").appendString(time).appendString("\",\"gpus\":");
    rows(json, gpus.values().stream().map(SentGpu::json));
    rows(json.appendString(",\"pods\":"), pods.values().stream().map(SentPod::json));
    return json.appendString(",\"summary\":").appendBuffer(summary.toBuffer()).appendString("}");
  }

  /**
   * Writes rows one by one: as one object those of a large cluster would take hundreds of
   * megabytes.
   */
  private static void rows(Buffer json, Stream<JsonObject> rows) {
    int start = json.length();
    rows.forEach(
        row -> json.appendString(json.length() == start ? "[" : ",").appendBuffer(row.toBuffer()));
    json.appendString(json.length() == start ? "[]" : "]");
  }

  private static Map<String, SentGpu> sentGpus(Snapshot snapshot, Map<String, SentGpu> before) {
    var sent = LinkedHashMap.<String, SentGpu>newLinkedHashMap(snapshot.gpus.size());
    for (GpuRow row : snapshot.gpus) {
      sent.put(row.key(), sentGpu(row, before.get(row.key())));
    }
    return sent;
  }

  @SuppressWarnings("ReferenceEquality")
  private static SentGpu sentGpu(GpuRow row, @Nullable SentGpu known) {
    if (known == null || !known.row().gpu().reading().equals(row.gpu().reading())) {
      return new SentGpu(row, GpuJson.readingTime(row));
    }
    return known.row() == row ? known : new SentGpu(row, known.readingTime());
  }

  /** Returns the pods by name; of two with the same name, the one that has not ended. */
  private Map<String, SentPod> sentPods(Snapshot snapshot) {
    var sent = LinkedHashMap.<String, SentPod>newLinkedHashMap(snapshot.pods.size());
    for (PodRow row : snapshot.pods) {
      var now = new SentPod(row, podJson.why(row));
      sent.merge(
          row.pod().key(), now, (one, two) -> two.row().state() == PodState.ENDED ? one : two);
    }
    return sent;
  }

  private static <S extends SentRow<S>> JsonArray changed(
      Map<String, S> before, Map<String, S> now) {
    var changed = new JsonArray();
    now.forEach(
        (key, row) -> {
          S then = before.get(key);
          if (then == null) {
            changed.add(row.json());
          } else if (!row.isUnchangedFrom(then)) {
            difference(then, row).ifPresent(changed::add);
          }
        });
    return changed;
  }

  private static <S extends SentRow<S>> Optional<JsonObject> difference(S then, S now) {
    JsonObject fields =
        now.sameExceptUsage(then)
            ? difference(then.usage(), now.usage())
            : difference(then.json(), now.json());
    return fields.isEmpty() ? Optional.empty() : Optional.of(now.identity().mergeIn(fields));
  }

  private static JsonObject difference(JsonObject then, JsonObject now) {
    var fields = new JsonObject();
    now.forEach(
        field -> {
          if (!field.getValue().equals(then.getMap().get(field.getKey()))) {
            fields.put(field.getKey(), field.getValue());
          }
        });
    then.fieldNames().stream()
        .filter(name -> !now.containsKey(name))
        .forEach(gone -> fields.putNull(gone));
    return fields;
  }

  private static <T> List<String> removed(Map<String, T> before, Map<String, T> now) {
    return before.keySet().stream().filter(key -> !now.containsKey(key)).toList();
  }

  private static String uuid(Map<String, SentGpu> gpus, String key) {
    return Objects.requireNonNull(gpus.get(key)).uuid();
  }

  /**
   * Returns whether a removed row shares its uuid with another row, so that the uuid does not
   * identify it.
   */
  private boolean sharesUuid(List<String> removed, Map<String, SentGpu> before) {
    if (removed.isEmpty()) {
      return false;
    }
    Set<String> uuids = removed.stream().map(key -> uuid(before, key)).collect(Collectors.toSet());
    return uuids.size() < removed.size()
        || gpus.values().stream().anyMatch(gpu -> uuids.contains(gpu.uuid()));
  }

  private static Optional<Buffer> array(String name, JsonArray rows) {
    return rows.isEmpty() ? Optional.empty() : Optional.of(field(name, rows.toBuffer()));
  }

  private static Buffer field(String name, Buffer json) {
    return Buffer.buffer("\"" + name + "\":").appendBuffer(json);
  }

  private Buffer object(List<Buffer> fields) {
    Buffer json = Buffer.buffer("{\"time\":\"").appendString(time).appendString("\"");
    fields.forEach(each -> json.appendString(",").appendBuffer(each));
    return json.appendString("}");
  }
}
