package dev.tranche.extender.controller;

import static java.util.Comparator.comparingDouble;

import dev.tranche.api.GrantedGpus;
import dev.tranche.extender.load.LoadCache;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.placement.GpuView;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * How much of a node's GPUs is granted and in use, as {@code kubectl describe node} shows it.
 *
 * @param smPercent of the measured GPUs; -1: none is measured
 * @param usedGib of the measured GPUs
 * @param totalGib of the measured GPUs; of all GPUs if none is measured
 */
public record NodeUse(GrantedGpus granted, int smPercent, long usedGib, long totalGib) {
  /** A change of the load below this is not worth a write. */
  private static final int SM_POINTS = 10;

  /** Likewise for memory: the total divided by this. */
  private static final int MEMORY_PARTS = 20;

  private static final int NOT_MEASURED = -1;
  private static final int TENTHS = 10;
  private static final int PERCENT = 100;
  private static final double GIB = 1L << 30;

  /**
   * Empty for a node without GPUs.
   *
   * @param resource what admission grants replicas of
   */
  public static Optional<NodeUse> of(
      List<GpuView> gpus, String resource, LoadCache loads, String node) {
    if (gpus.isEmpty()) {
      return Optional.empty();
    }
    double granted = 0;
    double sm = 0;
    int measured = 0;
    long usedBytes = 0;
    long measuredBytes = 0;
    long totalBytes = 0;
    for (GpuView gpu : gpus) {
      granted += gpu.grantedRatio();
      totalBytes += gpu.memoryUsableBytes();
      Optional<LoadReading> reading =
          gpu.measured() ? loads.get(node, gpu.uuid()) : Optional.empty();
      if (reading.isPresent()) {
        measured++;
        sm += reading.get().smMean();
        measuredBytes += gpu.memoryUsableBytes();
        usedBytes += reading.get().memoryUsedBytes();
      }
    }
    int tenths = (int) Math.round(granted * TENTHS);
    List<GpuView> open =
        gpus.stream().filter(gpu -> gpu.resource().equals(resource) && gpu.takesPods()).toList();
    Optional<GpuView> freest =
        open.stream().max(comparingDouble(gpu -> (double) gpu.freeShare() / gpu.replicas()));
    int replicas = freest.map(GpuView::replicas).orElse(1);
    return Optional.of(
        new NodeUse(
            new GrantedGpus(
                tenths,
                gpus.size(),
                open.stream()
                    .filter(gpu -> gpu.replicas() == replicas)
                    .mapToInt(GpuView::freeReplicas)
                    .sum(),
                freest.map(GpuView::freeShare).orElse(0),
                replicas),
            measured == 0 ? NOT_MEASURED : (int) Math.round(sm / measured * PERCENT),
            measured == 0 ? 0 : Math.round(usedBytes / GIB),
            Math.round((measured == 0 ? totalBytes : measuredBytes) / GIB)));
  }

  /**
   * Whether the difference is worth a write. Small changes don't count, since load changes
   * constantly. Nor does one more replica that fits: at the edge of two, measured memory would have
   * each written in turn. One less does, so that no more is promised than fits.
   */
  boolean differsFrom(NodeUse other) {
    long moreFree = granted.freeShare() - other.granted.freeShare();
    return granted.tenths() != other.granted.tenths()
        || granted.freeReplicas() != other.granted.freeReplicas()
        || granted.gpus() != other.granted.gpus()
        || granted.replicasPerGpu() != other.granted.replicasPerGpu()
        || moreFree < 0
        || moreFree > 1
        || totalGib != other.totalGib
        || (smPercent == NOT_MEASURED) != (other.smPercent == NOT_MEASURED)
        || Math.abs(smPercent - other.smPercent) >= SM_POINTS
        || Math.abs(usedGib - other.usedGib) > totalGib / MEMORY_PARTS;
  }

  /** Formats the annotation, with the time, so that an outdated one can be recognized. */
  String text(Instant now) {
    String use =
        smPercent == NOT_MEASURED
            ? String.format(Locale.ROOT, "%d GiB memory, use not measured", totalGib)
            : String.format(
                Locale.ROOT,
                "%d%% SM load, %d of %d GiB memory used",
                smPercent,
                usedGib,
                totalGib);
    return granted + ", %s, as of %s".formatted(use, now.truncatedTo(ChronoUnit.SECONDS));
  }
}
