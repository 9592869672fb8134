package dev.tranche.extender.readapi;

import dev.tranche.extender.readapi.row.PodUse;
import dev.tranche.extender.readapi.row.Snapshot;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import io.vertx.core.buffer.Buffer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ref.SoftReference;
import java.util.List;
import java.util.function.Function;
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
    List<PodUse> uses = PodUse.of(snapshot).limit(SHARES_MAX).toList();
    leftOut = PodUse.count(snapshot) - uses.size();
    var out = new ByteArrayOutputStream();
    try {
      WRITER.write(out, metrics(uses));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return Buffer.buffer(out.toByteArray());
  }

  private static MetricSnapshots metrics(List<PodUse> uses) {
    return MetricSnapshots.of(
        gauge(
            uses,
            "tranche_container_gpu_memory_granted_bytes",
            "GPU memory granted by the pod's replicas.",
            use -> (double) use.grantedBytes()),
        gauge(
            uses,
            "tranche_container_gpu_memory_used_bytes",
            "GPU memory used by the pod's processes; absent where it is not known.",
            use -> use.usedBytes() == null ? null : use.usedBytes().doubleValue()),
        gauge(
            uses,
            "tranche_container_gpu_overuse",
            "1 while the pod uses more GPU memory than granted, by more than 5 %, else 0.",
            use -> use.overuse() ? 1.0 : 0.0),
        gauge(
            uses,
            "tranche_container_gpu_sm_utilization_ratio",
            "Part of the GPU's time in which a kernel of the pod was running, 0 to 1; a mean with a half-life of 10 s.",
            PodUse::sm));
  }

  private static GaugeSnapshot gauge(
      List<PodUse> uses, String name, String help, Function<PodUse, @Nullable Double> value) {
    var snapshot = GaugeSnapshot.builder().name(name).help(help);
    for (PodUse use : uses) {
      Double now = value.apply(use);
      if (now != null) {
        snapshot.dataPoint(GaugeDataPointSnapshot.builder().labels(labels(use)).value(now).build());
      }
    }
    return snapshot.build();
  }

  private static Labels labels(PodUse use) {
    return Labels.of(
        "gpu", Integer.toString(use.gpu().view().index()),
        "UUID", use.gpu().view().uuid(),
        "modelName", use.gpu().view().model(),
        "Hostname", use.node(),
        "namespace", use.namespace(),
        "pod", use.pod());
  }
}
