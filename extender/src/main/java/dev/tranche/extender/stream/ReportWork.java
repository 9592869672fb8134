package dev.tranche.extender.stream;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.limit.TokenBucket;
import org.jspecify.annotations.Nullable;

/**
 * Limits the work that a node's reports cause, first to convert them and then on the loop that
 * decides. A report costs one unit for each thing that it names, about a microsecond. A node that
 * has used up its units waits until they are refilled, and then the latest of its reports is
 * applied. Confined to the streams' loop.
 */
final class ReportWork {
  /** Far above what a node needs: one of 16 GPUs and 160 pods names 500 things a second. */
  static final int UNITS_PER_S = 5_000;

  /** Two reports of a node with 10,000 held replicas. */
  static final int UNITS_BURST = 20_000;

  private final TokenBucket units;

  /** The stream that waits for the node's turn; see {@link ReportTurns}. */
  ReportTurns.@Nullable Turn next;

  /** The node's work up to and with its last turn, by the clock of {@link ReportTurns}. */
  long finish;

  ReportWork(long nowMs) {
    this(UNITS_BURST, UNITS_PER_S, nowMs);
  }

  ReportWork(int burst, int perS, long nowMs) {
    units = new TokenBucket(burst, perS, nowMs);
  }

  void take(NodeReport report, long nowMs) {
    takeUnits(units(report), nowMs);
  }

  void takeUnits(int count, long nowMs) {
    units.take(count, nowMs);
  }

  /** Returns how long the next report must wait. */
  long delayMs(long nowMs) {
    return units.debtMs(nowMs);
  }

  boolean isRefilled(long nowMs) {
    return units.full(nowMs);
  }

  static int units(NodeReport report) {
    int units = 1 + report.getEventsCount();
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
