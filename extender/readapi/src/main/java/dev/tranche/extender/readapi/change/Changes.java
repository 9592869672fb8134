package dev.tranche.extender.readapi.change;

import dev.tranche.extender.readapi.json.Json;
import dev.tranche.extender.readapi.row.ClusterSummary;
import dev.tranche.extender.readapi.row.Gpu;
import dev.tranche.extender.readapi.row.Pod;
import dev.tranche.extender.readapi.row.PodState;
import dev.tranche.extender.readapi.row.Snapshot;
import dev.tranche.extender.readapi.row.Snapshot.GpuRow;
import dev.tranche.extender.readapi.row.Snapshot.PodRow;
import dev.tranche.extender.readapi.row.View;
import dev.tranche.extender.readapi.row.Waiting;
import dev.tranche.extender.readapi.row.WaitingReasons;
import io.vertx.core.buffer.Buffer;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Numbers the states of the cluster, and says what is new since one of them. Each change is written
 * and compressed once for all readers. Thread-safe.
 */
public final class Changes {
  private static final RowFields<Gpu> GPU =
      RowFields.of(Gpu.class, List.of("node", "index", "uuid"));

  private static final RowFields<Pod> POD = RowFields.of(Pod.class, List.of("namespace", "name"));

  /** Least time from one change to the next. The page asks a little more often. */
  static final long PERIOD_MS = 1_000;

  /** Changes that are kept. Whoever is further behind gets all rows. */
  static final int KEPT_MAX = 8;

  private final WaitingReasons reasons;
  private final @Nullable String clusterName;

  /** Another replica, or this one after a restart, counts on its own. */
  private final String series = UUID.randomUUID().toString();

  private long version;
  private long changedMs;

  /** The newest last. */
  private final Deque<Buffer> kept = new ArrayDeque<>();

  private @Nullable Snapshot newest;
  private @Nullable Buffer complete;
  private Map<String, GpuRow> gpus = Map.of();
  private Map<String, ShownPod> pods = Map.of();
  private @Nullable ClusterSummary summary;

  /** What a row is made from. Rows themselves would take more memory. */
  private record ShownPod(PodRow row, @Nullable Waiting waiting) {}

  /**
   * @param clusterName empty where nobody has named the cluster
   */
  public Changes(WaitingReasons reasons, String clusterName) {
    this.reasons = reasons;
    this.clusterName = clusterName.isEmpty() ? null : clusterName;
  }

  /**
   * Returns a {@link Change}, compressed: the first one after a version, or all rows if the version
   * is not known any more. Blocks.
   */
  @SuppressWarnings("ReferenceEquality")
  public synchronized Buffer after(String known, Snapshot snapshot, long nowMs) {
    if (newest == null || (snapshot != newest && nowMs - changedMs >= PERIOD_MS)) {
      changedMs = nowMs;
      advance(snapshot);
    }
    int behind = 0;
    while (behind <= kept.size() && !known.equals(name(version - behind))) {
      behind++;
    }
    if (behind == 0) {
      return Json.compressed(nothing());
    }
    return behind > kept.size()
        ? complete()
        : kept.stream().skip(kept.size() - behind).findFirst().orElseThrow();
  }

  private String name(long number) {
    return series + "." + number;
  }

  private Instant time() {
    return Objects.requireNonNull(newest).inspection.at();
  }

  private Change nothing() {
    return new Change(name(version), time(), false, null, null, null, null, null, null);
  }

  private void advance(Snapshot snapshot) {
    boolean first = newest == null;
    newest = snapshot;
    Map<String, GpuRow> gpusBefore = gpus;
    Map<String, ShownPod> podsBefore = pods;
    gpus = new LinkedHashMap<>();
    snapshot.gpus.forEach(row -> gpus.put(row.key(), row));
    pods = shown(snapshot.pods, podsBefore);
    var summaryNow = ClusterSummary.of(snapshot, reasons);
    List<?> gpusChanged = changed(GPU, gpusBefore, gpus, Changes::gpu);
    List<String> gpusRemoved =
        removed(gpusBefore, gpus, row -> row.node().name() + "/" + row.gpu().view().uuid());
    List<?> podsChanged = changed(POD, podsBefore, pods, Changes::pod);
    List<String> podsRemoved = removed(podsBefore, pods, pod -> pod.row().pod().key());
    boolean summaryIsNew = !summaryNow.equals(summary);
    summary = summaryNow;
    if (!summaryIsNew
        && Stream.of(gpusChanged, gpusRemoved, podsChanged, podsRemoved).allMatch(List::isEmpty)) {
      return;
    }
    version++;
    complete = null;
    if (first) {
      return;
    }
    kept.add(
        Json.compressed(
            new Change(
                name(version),
                time(),
                false,
                null,
                gpusChanged,
                gpusRemoved,
                podsChanged,
                podsRemoved,
                summaryIsNew ? summaryNow : null)));
    if (kept.size() > KEPT_MAX) {
      kept.remove();
    }
  }

  /** Writes the rows one by one: all of a large cluster at once would take much memory. */
  private Buffer complete() {
    if (complete == null) {
      complete =
          Json.compressed(
              new Change(
                  name(version),
                  time(),
                  true,
                  clusterName,
                  () -> gpus.values().stream().<Object>map(Changes::gpu).iterator(),
                  null,
                  () -> pods.values().stream().<Object>map(Changes::pod).iterator(),
                  null,
                  summary));
    }
    return complete;
  }

  private static Gpu gpu(GpuRow row) {
    return Gpu.of(row, View.ALL);
  }

  private static Pod pod(ShownPod pod) {
    return Pod.of(pod.row(), pod.waiting());
  }

  /** Returns the pods by name; of two with the same name, the one that has not ended. */
  private Map<String, ShownPod> shown(List<PodRow> rows, Map<String, ShownPod> before) {
    var shown = new LinkedHashMap<String, ShownPod>();
    for (PodRow row : rows) {
      String key = row.pod().key();
      var now = new ShownPod(row, reasons.of(row));
      ShownPod then = before.get(key);
      shown.merge(
          key,
          then != null && isUnchanged(then, now) ? then : now,
          (one, two) -> two.row().state() == PodState.ENDED ? one : two);
    }
    return shown;
  }

  @SuppressWarnings("ReferenceEquality")
  private static boolean isUnchanged(ShownPod then, ShownPod now) {
    return then.row() == now.row() && Objects.equals(then.waiting(), now.waiting());
  }

  /** Compares what rows are made from first: most is the same object as before. */
  @SuppressWarnings("ReferenceEquality")
  private static <S, R extends Record> List<Object> changed(
      RowFields<R> fields, Map<String, S> before, Map<String, S> now, Function<S, R> row) {
    var changed = new ArrayList<>();
    now.forEach(
        (key, source) -> {
          S then = before.get(key);
          if (then == null) {
            changed.add(row.apply(source));
          } else if (then != source) {
            fields.difference(row.apply(then), row.apply(source)).ifPresent(changed::add);
          }
        });
    return changed;
  }

  private static <S> List<String> removed(
      Map<String, S> before, Map<String, S> now, Function<S, String> name) {
    return before.entrySet().stream()
        .filter(each -> !now.containsKey(each.getKey()))
        .map(each -> name.apply(each.getValue()))
        .toList();
  }
}
