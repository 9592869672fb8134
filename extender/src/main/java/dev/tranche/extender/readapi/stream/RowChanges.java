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
 * written, so that a calm cluster costs little. Of one thread at a time.
 */
public final class RowChanges {
  private final PodJson podJson;
  private final SummaryJson summaryJson;
  private Map<String, SeenGpu> gpus = Map.of();
  private Map<String, SeenPod> pods = Map.of();
  private JsonObject summary = new JsonObject();
  private String time = "";

  RowChanges(PodJson podJson, SummaryJson summaryJson) {
    this.podJson = podJson;
    this.summaryJson = summaryJson;
  }

  sealed interface Change {
    record None() implements Change {}

    /** Readers forget what they know. */
    record Whole() implements Change {}

    record Some(Buffer json) implements Change {}
  }

  /** A row as readers know it. */
  private interface Seen<S> {
    /** Whether nothing can be other. */
    boolean isOf(S other);

    /** Whether what is measured alone can be other, as it is of most rows. */
    boolean sameButUse(S other);

    /** By which readers know the row. */
    JsonObject names();

    /** What is measured. */
    JsonObject use();

    JsonObject json();
  }

  /**
   * @param read when its reading was taken, as it was first told: the clocks of two pictures differ
   *     by a millisecond
   */
  private record SeenGpu(GpuRow row, @Nullable Instant read) implements Seen<SeenGpu> {
    String uuid() {
      return row.gpu().view().uuid();
    }

    @Override
    @SuppressWarnings("ReferenceEquality")
    public boolean isOf(SeenGpu other) {
      return row == other.row;
    }

    @Override
    public boolean sameButUse(SeenGpu other) {
      return GpuJson.sameButUse(row, other.row);
    }

    @Override
    public JsonObject names() {
      return GpuJson.names(row);
    }

    @Override
    public JsonObject use() {
      return GpuJson.putUse(new JsonObject(), row, read);
    }

    @Override
    public JsonObject json() {
      return GpuJson.readAt(row, read);
    }
  }

  private record SeenPod(PodRow row, @Nullable Why why) implements Seen<SeenPod> {
    @Override
    @SuppressWarnings("ReferenceEquality")
    public boolean isOf(SeenPod other) {
      return row == other.row && Objects.equals(why, other.why);
    }

    @Override
    public boolean sameButUse(SeenPod other) {
      return Objects.equals(why, other.why) && PodJson.sameButUse(row, other.row);
    }

    @Override
    public JsonObject names() {
      return PodJson.names(row);
    }

    @Override
    public JsonObject use() {
      return PodJson.putUse(new JsonObject(), row);
    }

    @Override
    public JsonObject json() {
      return PodJson.of(row, why);
    }
  }

  /** Until the next picture nobody knows anything. */
  void forget() {
    gpus = Map.of();
    pods = Map.of();
    summary = new JsonObject();
    time = "";
  }

  Change next(Snapshot picture) {
    Map<String, SeenGpu> gpusBefore = gpus;
    Map<String, SeenPod> podsBefore = pods;
    JsonObject summaryBefore = summary;
    gpus = seenGpus(picture, gpusBefore);
    pods = seenPods(picture);
    summary = summaryJson.withoutNodes(picture);
    time = picture.inspection.at().toString();
    List<String> gpusRemoved = removed(gpusBefore, gpus);
    if (isElsewhere(gpusRemoved, gpusBefore)) {
      return new Change.Whole();
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

  /** All that readers know by now. */
  Buffer whole() {
    Buffer json = Buffer.buffer("{\"time\":\"").appendString(time).appendString("\",\"gpus\":");
    rows(json, gpus.values().stream().map(SeenGpu::json));
    rows(json.appendString(",\"pods\":"), pods.values().stream().map(SeenPod::json));
    return json.appendString(",\"summary\":").appendBuffer(summary.toBuffer()).appendString("}");
  }

  /** One by one: as one object a large cluster's would take hundreds of megabytes. */
  private static void rows(Buffer json, Stream<JsonObject> rows) {
    int start = json.length();
    rows.forEach(
        row -> json.appendString(json.length() == start ? "[" : ",").appendBuffer(row.toBuffer()));
    json.appendString(json.length() == start ? "[]" : "]");
  }

  private static Map<String, SeenGpu> seenGpus(Snapshot picture, Map<String, SeenGpu> before) {
    var seen = LinkedHashMap.<String, SeenGpu>newLinkedHashMap(picture.gpus.size());
    for (GpuRow row : picture.gpus) {
      seen.put(row.key(), seen(row, before.get(row.key())));
    }
    return seen;
  }

  @SuppressWarnings("ReferenceEquality")
  private static SeenGpu seen(GpuRow row, @Nullable SeenGpu known) {
    if (known == null || !known.row().gpu().reading().equals(row.gpu().reading())) {
      return new SeenGpu(row, GpuJson.read(row));
    }
    return known.row() == row ? known : new SeenGpu(row, known.read());
  }

  /** Of two pods of one name the one that has not ended. */
  private Map<String, SeenPod> seenPods(Snapshot picture) {
    var seen = LinkedHashMap.<String, SeenPod>newLinkedHashMap(picture.pods.size());
    for (PodRow row : picture.pods) {
      var now = new SeenPod(row, podJson.why(row));
      seen.merge(
          row.pod().key(), now, (one, two) -> two.row().state() == PodState.ENDED ? one : two);
    }
    return seen;
  }

  private static <S extends Seen<S>> JsonArray changed(Map<String, S> before, Map<String, S> now) {
    var changed = new JsonArray();
    now.forEach(
        (key, row) -> {
          S then = before.get(key);
          if (then == null) {
            changed.add(row.json());
          } else if (!row.isOf(then)) {
            difference(then, row).ifPresent(changed::add);
          }
        });
    return changed;
  }

  private static <S extends Seen<S>> Optional<JsonObject> difference(S then, S now) {
    JsonObject fields =
        now.sameButUse(then)
            ? difference(then.use(), now.use())
            : difference(then.json(), now.json());
    return fields.isEmpty() ? Optional.empty() : Optional.of(now.names().mergeIn(fields));
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

  private static String uuid(Map<String, SeenGpu> gpus, String key) {
    return Objects.requireNonNull(gpus.get(key)).uuid();
  }

  /** Whether another row has the uuid of a removed one, which then does not tell them apart. */
  private boolean isElsewhere(List<String> removed, Map<String, SeenGpu> before) {
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
