package dev.tranche.extender.stream;

import dev.tranche.api.node.NodeReport;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * How much one node may report. A message of the allowed size has room for hundreds of thousands of
 * GPUs, and what is told of them is compared on the loop that all nodes and verbs share.
 */
final class Bounds {
  static final int GPUS_MAX = 1_024;

  /** Replicas held, each by its id; a node makes no more than that. */
  static final int HELD_MAX = 10_000;

  /** Assignments that the node keeps; each is of one replica at least. */
  static final int ECHOES_MAX = 10_000;

  private Bounds() {}

  /** What there is too much of, as a sentence; empty if the report may be taken. */
  static Optional<String> broken(NodeReport report) {
    long held = 0;
    for (var holding : report.getHoldingsList()) {
      // One that names no replica costs as much.
      held += Math.max(1, holding.getDeviceIdsCount());
    }
    return Stream.of(
            over("GPUs", report.getGpusCount(), GPUS_MAX),
            over("held replicas", held, HELD_MAX),
            over("assignments", report.getAssignmentsCount(), ECHOES_MAX))
        .flatMap(Optional::stream)
        .findFirst();
  }

  private static Optional<String> over(String what, long count, int max) {
    return count > max
        ? Optional.of("a report names %d %s; %d are allowed".formatted(count, what, max))
        : Optional.empty();
  }
}
