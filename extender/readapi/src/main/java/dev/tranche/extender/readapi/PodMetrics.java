package dev.tranche.extender.readapi;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.readapi.row.Grants;
import dev.tranche.extender.readapi.row.Holder;
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
import java.util.Optional;
import java.util.function.Function;
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
      return Grants.bytes(gpu, hold);
    }

    @Nullable Double usedBytes() {
      return reading()
          .map(last -> last.memoryBytesOf(hold.key()))
          .map(Long::doubleValue)
          .orElse(null);
    }

    @Nullable Double sm() {
      return reading().map(last -> last.smOf(hold.key())).orElse(null);
    }

    private Optional<LoadReading> reading() {
      return gpu.reading().filter(last -> gpu.view().measured());
    }

    double overuse() {
      Double used = usedBytes();
      return used != null && used > grantedBytes() * (1 + TOLERANCE) ? 1 : 0;
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
    return MetricSnapshots.of(
        gauge(
            shares,
            "tranche_container_gpu_memory_granted_bytes",
            "GPU memory granted by the pod's replicas.",
            Share::grantedBytes),
        gauge(
            shares,
            "tranche_container_gpu_memory_used_bytes",
            "GPU memory used by the pod's processes; absent where it is not known.",
            Share::usedBytes),
        gauge(
            shares,
            "tranche_container_gpu_overuse",
            "1 while the pod uses more GPU memory than granted, by more than 5 %, else 0.",
            Share::overuse),
        gauge(
            shares,
            "tranche_container_gpu_sm_utilization_ratio",
            "Part of the GPU's time in which a kernel of the pod was running, 0 to 1; a mean with a half-life of 10 s.",
            Share::sm));
  }

  private static GaugeSnapshot gauge(
      List<Share> shares, String name, String help, Function<Share, @Nullable Double> value) {
    var snapshot = GaugeSnapshot.builder().name(name).help(help);
    for (Share share : shares) {
      Double now = value.apply(share);
      if (now != null) {
        snapshot.dataPoint(
            GaugeDataPointSnapshot.builder().labels(labels(share)).value(now).build());
      }
    }
    return snapshot.build();
  }

  private static Labels labels(Share share) {
    return Labels.of(
        "gpu", Integer.toString(share.gpu().view().index()),
        "UUID", share.gpu().view().uuid(),
        "modelName", share.gpu().view().model(),
        "Hostname", share.hold().node(),
        "namespace", share.hold().namespace(),
        "pod", Holder.name(share.hold()));
  }
}
