package dev.tranche.extender.readapi;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.readapi.row.AmountSum;
import dev.tranche.extender.readapi.row.GpuQuantity;
import dev.tranche.extender.readapi.row.Holder;
import dev.tranche.extender.readapi.row.MemoryQuantity;
import dev.tranche.extender.readapi.row.Pod.Used;
import dev.tranche.extender.readapi.row.Snapshot;
import dev.tranche.process.meters.RowCollector;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import io.vertx.core.buffer.Buffer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ref.SoftReference;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What pods use of GPUs, for Prometheus. These are the node plugin's series of containers under the
 * same names, for all containers of a pod together and so without the label {@code container}.
 */
public final class PodMetrics {
  static final String TYPE = PrometheusTextFormatWriter.CONTENT_TYPE;

  private static final PrometheusTextFormatWriter WRITER =
      PrometheusTextFormatWriter.builder().build();

  /** Shares of GPUs that are shown; their text has about 17 MiB. */
  static final int SHARES_MAX = 10_000;

  private SoftReference<@Nullable Text> latest = new SoftReference<>(null);
  private volatile int leftOut;

  /** What the node plugin tolerates by default. */
  private static final double TOLERANCE = 0.05;

  /** What a bound pod holds of a GPU. */
  public record Share(Inspection.Gpu gpu, Hold hold, Instant at) {
    /** Returns those of all pods, at most {@link #SHARES_MAX}. */
    public static List<Share> of(Inspection now) {
      return all(now).limit(SHARES_MAX).toList();
    }

    private static Stream<Share> all(Inspection now) {
      return now.nodes().stream()
          .flatMap(node -> node.gpus().stream())
          .flatMap(gpu -> gpu.holds().stream().map(hold -> new Share(gpu, hold, now.at())))
          .filter(share -> share.hold.isBound());
    }

    double granted() {
      return AmountSum.gpus(gpu, hold);
    }

    double grantedBytes() {
      return AmountSum.bytes(gpu, hold);
    }

    double idleSeconds() {
      Instant since = gpu.idleSince().get(hold.uid());
      return since == null ? Double.NaN : Duration.between(since, at).toMillis() / 1_000.0;
    }

    double usedBytes() {
      MemoryQuantity used = Used.of(gpu, hold).memory();
      return used == null || !gpu.view().measured() ? Double.NaN : used.bytes();
    }

    double sm() {
      GpuQuantity used = Used.of(gpu, hold).gpus();
      return used == null ? Double.NaN : used.gpus();
    }

    double overuse() {
      double used = usedBytes();
      return Double.isNaN(used) ? used : used > grantedBytes() * (1 + TOLERANCE) ? 1 : 0;
    }

    Labels labels() {
      return Labels.of(
          "gpu", Integer.toString(gpu.view().index()),
          "UUID", gpu.view().uuid(),
          "modelName", gpu.view().model(),
          "Hostname", hold.node(),
          "namespace", hold.namespace(),
          "pod", Holder.name(hold));
    }
  }

  /** What was written of a snapshot. */
  private record Text(Snapshot snapshot, Buffer buffer) {}

  /** Returns how many shares the latest text lacks. */
  int leftOut() {
    return leftOut;
  }

  /** Writes one text at a time, and one for each snapshot. Blocks. */
  @SuppressWarnings("ReferenceEquality")
  synchronized Buffer of(Snapshot snapshot) {
    Text known = latest.get();
    if (known == null || known.snapshot() != snapshot) {
      known = new Text(snapshot, write(snapshot));
      latest = new SoftReference<>(known);
    }
    return known.buffer();
  }

  private Buffer write(Snapshot snapshot) {
    List<Share> shares = Share.of(snapshot.inspection);
    leftOut = (int) Share.all(snapshot.inspection).count() - shares.size();
    var out = new ByteArrayOutputStream();
    try {
      WRITER.write(out, metrics(shares));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return Buffer.buffer(out.toByteArray());
  }

  private static MetricSnapshots metrics(List<Share> shares) {
    return granted(() -> shares)
        .gauge(
            "tranche_container_gpu_memory_granted_bytes",
            "GPU memory granted by the pod's replicas.",
            Share::grantedBytes)
        .gauge(
            "tranche_container_gpu_memory_used_bytes",
            "GPU memory used by the pod's processes; absent where it is not known.",
            Share::usedBytes)
        .gauge(
            "tranche_container_gpu_overuse",
            "1 while the pod uses more GPU memory than granted, by more than 5 %, else 0; absent"
                + " where its use is not known.",
            Share::overuse)
        .gauge(
            "tranche_container_gpu_sm_utilization_ratio",
            "Part of the GPU's time in which a kernel of the pod was running, 0 to 1; a mean with a"
                + " half-life of 10 s.",
            Share::sm)
        .collect();
  }

  /** Collects what bound pods hold and do not use, with or without a process on the GPU. */
  public static RowCollector<Share> granted(Supplier<List<Share>> shares) {
    return new RowCollector<>(shares, Share::labels)
        .gauge(
            "tranche_pod_gpu_granted_ratio",
            "Part of the GPU that the pod holds, 0 to 1.",
            Share::granted)
        .gauge(
            "tranche_pod_gpu_memory_granted_bytes",
            "GPU memory that the pod holds.",
            Share::grantedBytes)
        .gauge(
            "tranche_pod_gpu_idle_seconds",
            "Time for which the pod has not worked on the GPU; absent within the first minute, and"
                + " where its use is not known.",
            Share::idleSeconds);
  }
}
