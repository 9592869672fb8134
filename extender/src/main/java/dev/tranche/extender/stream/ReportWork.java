package dev.tranche.extender.stream;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.NodeReport;
import dev.tranche.process.TokenBucket;

/**
 * Limits the work that a node's reports cause, first to convert them and then on the loop that
 * decides. A report costs one unit for each thing that it names, about a microsecond, and one for
 * each KiB. From a node that has used up its units nothing is read until they are refilled.
 * Confined to the streams' loop.
 */
final class ReportWork {
  /** Far above what a node needs: one of 16 GPUs and 160 pods names 500 things a second. */
  static final int UNITS_PER_S = 5_000;

  /** Two reports of a node with 10,000 held replicas. */
  static final int UNITS_BURST = 20_000;

  private final TokenBucket units;

  ReportWork(long nowMs) {
    units = new TokenBucket(UNITS_BURST, UNITS_PER_S, nowMs);
  }

  /** Takes a report into account, and returns for how long no further one may be read. */
  long take(NodeReport report, long nowMs) {
    units.take(units(report), nowMs);
    return units.debtMs(nowMs);
  }

  boolean isRefilled(long nowMs) {
    return units.full(nowMs);
  }

  private static int units(NodeReport report) {
    int units = 1 + report.getSerializedSize() / 1_024 + report.getEventsCount();
    for (Gpu gpu : report.getGpusList()) {
      units += 1 + gpu.getPodUsesCount();
    }
    for (var reading : report.getReadingsList()) {
      units += 1 + reading.getPodUsesCount();
    }
    for (var holding : report.getHoldingsList()) {
      units += 1 + holding.getDeviceIdsCount();
    }
    for (Assignment assignment : report.getAssignmentsList()) {
      units += 1 + assignment.getContainersCount();
      for (var container : assignment.getContainersList()) {
        units += container.getSharesCount();
      }
    }
    return units;
  }
}
