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
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What pods use of GPUs, for Prometheus. These are the node plugin's series of containers under the
 * same names, for all containers of a pod together and so without the label {@code container}.
 */
final class PodMetrics {
  static final String TYPE = PrometheusTextFormatWriter.CONTENT_TYPE;

  private static final PrometheusTextFormatWriter WRITER =
      PrometheusTextFormatWriter.builder().build();

  /** Shares of GPUs that are shown; their text has about 10 MiB. */
  static final int SHARES_MAX = 10_000;

  private SoftReference<@Nullable Text> latest = new SoftReference<>(null);
  private volatile int leftOut;

  /** What the node plugin tolerates by default. */
  private static final double TOLERANCE = 0.05;

  /** What a bound pod holds of a GPU. */
  private record Share(Inspection.Gpu gpu, Hold hold) {
    static Stream<Share> of(Snapshot snapshot) {
      return snapshot.gpus.stream()
          .flatMap(row -> row.gpu().holds().stream().map(hold -> new Share(row.gpu(), hold)))
          .filter(share -> share.hold.stage() == Hold.Stage.BOUND);
    }

    double grantedBytes() {
      return AmountSum.bytes(gpu, hold);
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
      return usedBytes() > grantedBytes() * (1 + TOLERANCE) ? 1 : 0;
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
    List<Share> shares = Share.of(snapshot).limit(SHARES_MAX).toList();
    leftOut = (int) Share.of(snapshot).count() - shares.size();
    var out = new ByteArrayOutputStream();
    try {
      WRITER.write(out, metrics(shares));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return Buffer.buffer(out.toByteArray());
  }

  private static MetricSnapshots metrics(List<Share> shares) {
    return new RowCollector<>(() -> shares, Share::labels)
        .gauge(
            "tranche_container_gpu_memory_granted_bytes",
            "GPU memory granted by the pod's replicas.",
            Share::grantedBytes)
        .gaugeIfKnown(
            "tranche_container_gpu_memory_used_bytes",
            "GPU memory used by the pod's processes; absent where it is not known.",
            Share::usedBytes)
        .gauge(
            "tranche_container_gpu_overuse",
            "1 while the pod uses more GPU memory than granted, by more than 5 %, else 0.",
            Share::overuse)
        .gaugeIfKnown(
            "tranche_container_gpu_sm_utilization_ratio",
            "Part of the GPU's time in which a kernel of the pod was running, 0 to 1; a mean with a"
                + " half-life of 10 s.",
            Share::sm)
        .collect();
  }
}
