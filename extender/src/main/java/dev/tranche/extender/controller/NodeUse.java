package dev.tranche.extender.controller;

import dev.tranche.api.GrantedGpus;
import dev.tranche.extender.load.LoadCache;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.placement.GpuView;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How much of a node's GPUs is granted and in use, as {@code kubectl describe node} shows it.
 *
 * @param grantedTenths tenths of a GPU
 * @param smPercent of the measured GPUs; -1: none is measured
 * @param usedGib of the measured GPUs
 * @param totalGib of the measured GPUs; of all GPUs if none is measured
 */
public record NodeUse(int grantedTenths, int gpus, int smPercent, long usedGib, long totalGib) {
  /** A change of the load below this is not worth a write. */
  private static final int SM_POINTS = 10;

  /** Likewise for memory: the total divided by this. */
  private static final int MEMORY_PARTS = 20;

  private static final int NOT_MEASURED = -1;
  private static final int TENTHS = 10;
  private static final int PERCENT = 100;
  private static final double GIB = 1L << 30;
  private static final Pattern WRITTEN =
      Pattern.compile(
          "(\\d{1,7})\\.(\\d) of (\\d{1,7}) GPUs granted,"
              + " (?:(\\d{1,3})% SM load, (\\d{1,9}) of (\\d{1,9}) GiB memory used"
              + "|(\\d{1,9}) GiB memory, use not measured), as of (\\S{1,40})");

  /**
   * What was written, and when.
   *
   * @param at to the second
   */
  record Written(NodeUse use, Instant at) {}

  /** Empty for a node without GPUs. */
  public static Optional<NodeUse> of(List<GpuView> gpus, LoadCache loads, String node) {
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
      granted += (double) (gpu.replicas() - gpu.freeReplicas()) / gpu.replicas();
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
    return Optional.of(
        new NodeUse(
            (int) Math.round(granted * TENTHS),
            gpus.size(),
            measured == 0 ? NOT_MEASURED : (int) Math.round(sm / measured * PERCENT),
            measured == 0 ? 0 : Math.round(usedBytes / GIB),
            Math.round((measured == 0 ? totalBytes : measuredBytes) / GIB)));
  }

  /**
   * Parses the annotation; empty if it was not written by us, or by a version with another format.
   */
  static Optional<Written> read(String annotation) {
    Matcher match = WRITTEN.matcher(annotation);
    if (!match.matches()) {
      return Optional.empty();
    }
    boolean measured = match.group(4) != null;
    try {
      var use =
          new NodeUse(
              Integer.parseInt(match.group(1)) * TENTHS + Integer.parseInt(match.group(2)),
              Integer.parseInt(match.group(3)),
              measured ? Integer.parseInt(match.group(4)) : NOT_MEASURED,
              measured ? Long.parseLong(match.group(5)) : 0,
              Long.parseLong(match.group(measured ? 6 : 7)));
      return Optional.of(new Written(use, Instant.parse(match.group(8))));
    } catch (DateTimeException none) {
      return Optional.empty();
    }
  }

  /**
   * Whether the difference is worth a write. Small changes don't count, since load changes
   * constantly.
   */
  boolean differsFrom(NodeUse other) {
    return grantedTenths != other.grantedTenths
        || gpus != other.gpus
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
    return new GrantedGpus(grantedTenths, gpus)
        + ", %s, as of %s".formatted(use, now.truncatedTo(ChronoUnit.SECONDS));
  }
}
