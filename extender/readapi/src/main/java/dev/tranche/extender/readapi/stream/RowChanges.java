package dev.tranche.extender.readapi.stream;

import dev.tranche.extender.readapi.json.Json;
import dev.tranche.extender.readapi.row.Gpu;
import dev.tranche.extender.readapi.row.Pod;
import dev.tranche.extender.readapi.row.PodState;
import dev.tranche.extender.readapi.row.Snapshot;
import dev.tranche.extender.readapi.row.Snapshot.GpuRow;
import dev.tranche.extender.readapi.row.Snapshot.PodRow;
import dev.tranche.extender.readapi.row.StreamSummary;
import dev.tranche.extender.readapi.row.View;
import dev.tranche.extender.readapi.row.Waiting;
import dev.tranche.extender.readapi.row.WaitingReasons;
import io.vertx.core.buffer.Buffer;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What the stream's readers know, and what has changed since. Rows are compared before they are
 * written, so that an idle cluster costs little. Used by one thread at a time.
 */
public final class RowChanges {
  private static final RowFields<Gpu> GPU = RowFields.of(Gpu.class, Gpu.IDENTITY);
  private static final RowFields<Pod> POD = RowFields.of(Pod.class, Pod.IDENTITY);

  private final WaitingReasons reasons;
  private final String clusterName;
  private Map<String, SentGpu> gpus = Map.of();
  private Map<String, SentPod> pods = Map.of();
  private @Nullable StreamSummary summary;
  private Instant time = Instant.EPOCH;

  /**
   * @param clusterName empty where nobody has named the cluster
   */
  RowChanges(WaitingReasons reasons, String clusterName) {
    this.reasons = reasons;
    this.clusterName = clusterName;
  }

  sealed interface Change {
    record None() implements Change {}

    /** All rows are sent anew, and readers discard what they know. */
    record Reset() implements Change {}

    record Some(Buffer json) implements Change {}
  }

  /** What a row was made from when it was last sent. Rows themselves would take more memory. */
  private interface Sent<R extends Record> {
    R row();
  }

  /**
   * @param readingTime when its reading was taken, as first sent: the clocks of two snapshots may
   *     differ by a millisecond
   */
  private record SentGpu(GpuRow of, @Nullable Instant readingTime) implements Sent<Gpu> {
    String uuid() {
      return of.gpu().view().uuid();
    }

    @Override
    public Gpu row() {
      return Gpu.of(of, readingTime, View.ALL);
    }
  }

  private record SentPod(PodRow of, @Nullable Waiting waiting) implements Sent<Pod> {
    @SuppressWarnings("ReferenceEquality")
    boolean isUnchangedFrom(SentPod other) {
      return of == other.of && Objects.equals(waiting, other.waiting);
    }

    @Override
    public Pod row() {
      return Pod.of(of, waiting);
    }
  }

  /** Forgets all that readers know, until the next snapshot. */
  void forget() {
    gpus = Map.of();
    pods = Map.of();
    summary = null;
    time = Instant.EPOCH;
  }

  Change next(Snapshot snapshot) {
    Map<String, SentGpu> gpusBefore = gpus;
    Map<String, SentPod> podsBefore = pods;
    StreamSummary summaryBefore = summary;
    gpus = sentGpus(snapshot, gpusBefore);
    pods = sentPods(snapshot, podsBefore);
    summary = StreamSummary.of(snapshot, reasons);
    time = snapshot.inspection.at();
    List<String> gpusRemoved = removed(gpusBefore, gpus);
    if (sharesUuid(gpusRemoved, gpusBefore)) {
      return new Change.Reset();
    }
    var change = new LinkedHashMap<String, Object>();
    put(change, "gpus", changed(GPU, gpusBefore, gpus));
    put(change, "gpusRemoved", gpusRemoved.stream().map(key -> uuid(gpusBefore, key)).toList());
    put(change, "pods", changed(POD, podsBefore, pods));
    put(change, "podsRemoved", removed(podsBefore, pods));
    if (!summary.equals(summaryBefore)) {
      change.put("summary", summary);
    }
    if (change.isEmpty()) {
      return new Change.None();
    }
    change.putFirst("time", time);
    return new Change.Some(Json.buffer(change));
  }

  private static void put(Map<String, Object> change, String field, List<?> rows) {
    if (!rows.isEmpty()) {
      change.put(field, rows);
    }
  }

  /** Returns all that readers know by now, as a {@code StreamSnapshot}. */
  Buffer snapshotJson() {
    Buffer json = Buffer.buffer("{\"time\":").appendBytes(Json.bytes(time));
    if (!clusterName.isEmpty()) {
      json.appendString(",\"clusterName\":").appendBytes(Json.bytes(clusterName));
    }
    rows(json.appendString(",\"gpus\":"), gpus.values().stream().map(SentGpu::row));
    rows(json.appendString(",\"pods\":"), pods.values().stream().map(SentPod::row));
    return json.appendString(",\"summary\":")
        .appendBytes(Json.bytes(Objects.requireNonNull(summary)))
        .appendString("}");
  }

  /**
   * Writes rows one by one: as one object those of a large cluster would take hundreds of
   * megabytes.
   */
  private static void rows(Buffer json, Stream<? extends Record> rows) {
    int start = json.length();
    rows.forEach(
        row -> json.appendString(json.length() == start ? "[" : ",").appendBytes(Json.bytes(row)));
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
    if (known == null || !known.of().gpu().reading().equals(row.gpu().reading())) {
      return new SentGpu(row, Gpu.readingTime(row));
    }
    return known.of() == row ? known : new SentGpu(row, known.readingTime());
  }

  /** Returns the pods by name; of two with the same name, the one that has not ended. */
  private Map<String, SentPod> sentPods(Snapshot snapshot, Map<String, SentPod> before) {
    var sent = LinkedHashMap.<String, SentPod>newLinkedHashMap(snapshot.pods.size());
    for (PodRow row : snapshot.pods) {
      String key = row.pod().key();
      sent.merge(
          key,
          sentPod(row, before.get(key)),
          (one, two) -> two.of().state() == PodState.ENDED ? one : two);
    }
    return sent;
  }

  private SentPod sentPod(PodRow row, @Nullable SentPod known) {
    var now = new SentPod(row, reasons.of(row));
    return known != null && now.isUnchangedFrom(known) ? known : now;
  }

  /** Compares what rows were made from first: most is the same object as before. */
  @SuppressWarnings("ReferenceEquality")
  private static <R extends Record, S extends Sent<R>> List<Map<String, @Nullable Object>> changed(
      RowFields<R> fields, Map<String, S> before, Map<String, S> now) {
    var changed = new ArrayList<Map<String, @Nullable Object>>();
    now.forEach(
        (key, sent) -> {
          S then = before.get(key);
          if (then == null) {
            changed.add(fields.added(sent.row()));
          } else if (then != sent) {
            fields.difference(then.row(), sent.row()).ifPresent(changed::add);
          }
        });
    return changed;
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
}
