package dev.tranche.extender.readapi.stream;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.ledger.Hold;
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

  /**
   * @param read when its reading was taken, as it was first told: the clocks of two pictures differ
   *     by a millisecond
   */
  private record SeenGpu(GpuRow row, @Nullable Instant read) {
    String uuid() {
      return row.gpu().view().uuid();
    }

    @SuppressWarnings("ReferenceEquality")
    boolean isOf(GpuRow now) {
      return row == now;
    }

    boolean looksLike(SeenGpu other) {
      if (isOf(other.row)) {
        return true;
      }
      Inspection.Gpu one = row.gpu();
      Inspection.Gpu two = other.row.gpu();
      return row.node().availability() == other.row.node().availability()
          && one.view().equals(two.view())
          && one.reading().equals(two.reading())
          && one.holds().equals(two.holds())
          && one.formerReplicas().equals(two.formerReplicas());
    }

    JsonObject json() {
      return GpuJson.readAt(row, read);
    }
  }

  private record SeenPod(PodRow row, @Nullable Why why) {
    @SuppressWarnings("ReferenceEquality")
    boolean looksLike(SeenPod other) {
      return Objects.equals(why, other.why) && (row == other.row || rowLooksLike(other));
    }

    private boolean rowLooksLike(SeenPod other) {
      return row.pod().equals(other.row.pod())
          && row.hold().equals(other.row.hold())
          && row.hold().map(hold -> holdsTheSame(other, hold)).orElse(true);
    }

    private boolean holdsTheSame(SeenPod other, Hold hold) {
      List<GpuRow> mine = row.gpus();
      List<GpuRow> theirs = other.row.gpus();
      for (int i = 0; i < mine.size() && mine.size() == theirs.size(); i++) {
        if (!looksTheSame(mine.get(i).gpu(), theirs.get(i).gpu(), hold)) {
          return false;
        }
      }
      return mine.size() == theirs.size();
    }

    private static boolean looksTheSame(Inspection.Gpu one, Inspection.Gpu two, Hold hold) {
      return one.view().uuid().equals(two.view().uuid())
          && one.view().index() == two.view().index()
          && one.view().memoryUsableBytes() == two.view().memoryUsableBytes()
          && one.view().measured() == two.view().measured()
          && GpuJson.replicasPerGpu(one, hold) == GpuJson.replicasPerGpu(two, hold)
          && one.reading()
              .map(r -> r.smOf(hold.key()))
              .equals(two.reading().map(r -> r.smOf(hold.key())))
          && one.reading()
              .map(r -> r.memoryBytesOf(hold.key()))
              .equals(two.reading().map(r -> r.memoryBytesOf(hold.key())));
    }

    JsonObject json() {
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
    array("gpus", changedGpus(gpusBefore)).ifPresent(fields::add);
    var uuids = new JsonArray();
    gpusRemoved.forEach(key -> uuids.add(uuid(gpusBefore, key)));
    array("gpusRemoved", uuids).ifPresent(fields::add);
    array("pods", changedPods(podsBefore)).ifPresent(fields::add);
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
      SeenGpu known = before.get(row.key());
      seen.put(row.key(), known != null && known.isOf(row) ? known : seen(row, known));
    }
    return seen;
  }

  private static SeenGpu seen(GpuRow row, @Nullable SeenGpu known) {
    boolean same = known != null && known.row().gpu().reading().equals(row.gpu().reading());
    return new SeenGpu(row, known != null && same ? known.read() : GpuJson.read(row));
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

  private JsonArray changedGpus(Map<String, SeenGpu> before) {
    var changed = new JsonArray();
    gpus.forEach(
        (key, now) -> {
          SeenGpu then = before.get(key);
          if (then == null) {
            changed.add(now.json());
          } else if (!now.looksLike(then)) {
            difference(then.json(), now.json(), List.of("node", "index", "uuid"))
                .ifPresent(changed::add);
          }
        });
    return changed;
  }

  private JsonArray changedPods(Map<String, SeenPod> before) {
    var changed = new JsonArray();
    pods.forEach(
        (key, now) -> {
          SeenPod then = before.get(key);
          if (then == null) {
            changed.add(now.json());
          } else if (!now.looksLike(then)) {
            difference(then.json(), now.json(), List.of("namespace", "name"))
                .ifPresent(changed::add);
          }
        });
    return changed;
  }

  /**
   * @param names of the fields by which readers know the row
   */
  private static Optional<JsonObject> difference(
      JsonObject then, JsonObject now, List<String> names) {
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
    if (fields.isEmpty()) {
      return Optional.empty();
    }
    var row = new JsonObject();
    names.forEach(name -> row.put(name, now.getValue(name)));
    return Optional.of(row.mergeIn(fields));
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
