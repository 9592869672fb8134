package dev.tranche.extender.stream;

import dev.tranche.api.RequestBounds;
import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.NodeReport;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * How much one node may report. A message of the allowed size has room for hundreds of thousands of
 * GPUs or pods. Their data is kept, and compared on the loop that all nodes and verbs share. So a
 * report names no more than a node can have. The work that reports cause is bounded, too: each
 * thing that one names takes about a microsecond to convert and then to apply.
 */
final class ReportBounds {
  /** Twice the number of MIG devices of 16 GPUs with 7 each, rounded up. */
  static final int GPUS_MAX = 256;

  /**
   * Limits the replicas of all GPUs, and the held ones, each by its id; a node advertises no more.
   */
  static final int REPLICAS_MAX = RequestBounds.REPLICAS_MAX;

  /** Assignments that the node keeps; a plugin refuses more. */
  static final int ASSIGNMENTS_MAX = 4_096;

  /** Containers with processes on a GPU, over all GPUs; a kubelet runs a few hundred. */
  static final int USES_MAX = 4_096;

  /** Containers that must have a memory limit, over all GPUs; each of them has a share. */
  static final int LIMITS_MAX = USES_MAX;

  static final int EVENTS_MAX = 64;

  /** Far above what a node needs: one of 16 GPUs and 160 pods names 500 things a second. */
  static final int UNITS_PER_S = 5_000;

  /** Two reports of a node with 10,000 held replicas. */
  static final int UNITS_BURST = 20_000;

  /** The names of pods and namespaces. */
  private static final Pattern NAME = Pattern.compile("[a-z0-9-][a-z0-9.-]{0,252}");

  private @Nullable String violation;
  private int units;

  private ReportBounds() {}

  static ReportBounds of(NodeReport report) {
    var bounds = new ReportBounds();
    bounds.units = 1 + report.getSerializedSize() / 1_024 + report.getReadingsCount();
    bounds.counts(report);
    report.getAssignmentsList().forEach(bounds::assignment);
    return bounds;
  }

  /** Returns which bound the report exceeds, as a sentence; empty if it is accepted. */
  Optional<String> violation() {
    return Optional.ofNullable(violation);
  }

  /** Returns its work: one unit for each thing that it names, and one for each KiB. */
  int units() {
    return units;
  }

  private void counts(NodeReport report) {
    long held = 0;
    for (var holding : report.getHoldingsList()) {
      // A holding that names no replica costs as much as one that does.
      held += Math.max(1, holding.getDeviceIdsCount());
    }
    long replicas = 0;
    long uses = 0;
    long limits = 0;
    for (Gpu gpu : report.getGpusList()) {
      replicas += Integer.toUnsignedLong(gpu.getReplicas());
      uses += gpu.getPodUsesCount();
      limits += gpu.getLimitsCount();
    }
    for (var reading : report.getReadingsList()) {
      uses += reading.getPodUsesCount();
    }
    long shares = 0;
    for (Assignment assignment : report.getAssignmentsList()) {
      shares += assignment.getContainersCount();
      for (var container : assignment.getContainersList()) {
        shares += container.getSharesCount();
      }
    }
    countListed("GPUs", report.getGpusCount(), GPUS_MAX);
    count("replicas", replicas, REPLICAS_MAX);
    countListed("held replicas", held, REPLICAS_MAX);
    countListed("assignments", report.getAssignmentsCount(), ASSIGNMENTS_MAX);
    countListed("containers and shares of assignments", shares, 2L * REPLICAS_MAX);
    countListed("containers at work", uses, USES_MAX);
    countListed("containers with a memory limit", limits, LIMITS_MAX);
    for (var holding : report.getHoldingsList()) {
      replicasPerGpu(holding.getReplicasPerGpu());
    }
    for (Assignment assignment : report.getAssignmentsList()) {
      replicasPerGpu(assignment.getReplicasPerGpu());
    }
    countListed("events", report.getEventsCount(), EVENTS_MAX);
  }

  /**
   * Checks an assignment. Its names must be valid, since the pod is read from the API server by
   * them.
   */
  private void assignment(Assignment assignment) {
    name("namespace", assignment.getNamespace());
    name("pod's name", assignment.getPod());
    for (var container : assignment.getContainersList()) {
      for (var share : container.getSharesList()) {
        long replicas = Integer.toUnsignedLong(share.getReplicas());
        count("replicas of one share", replicas, REPLICAS_MAX);
      }
    }
  }

  private void replicasPerGpu(int unsigned) {
    count("replicas per GPU of a grant", Integer.toUnsignedLong(unsigned), REPLICAS_MAX);
  }

  /** Counts what the report lists one by one. */
  private void countListed(String what, long count, long max) {
    units += (int) Math.min(count, max);
    count(what, count, max);
  }

  private void count(String what, long count, long max) {
    if (violation == null && count > max) {
      violation = "a report names %d %s; %d are allowed".formatted(count, what, max);
    }
  }

  private void name(String what, String name) {
    if (violation == null && !NAME.matcher(name).matches()) {
      violation =
          "an assignment has a %s that Kubernetes does not allow: small letters, digits, '-' and '.' are, not a dot in front"
              .formatted(what);
    }
  }
}
