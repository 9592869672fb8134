package dev.tranche.api;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.GpuReading;
import dev.tranche.api.node.NodeReport;

/**
 * Chooses what a stream sends of a node's state: a whole report, or only the readings if nothing
 * else has changed since the last whole report. A whole report names each held replica of a node,
 * of which there may be 800. An extender with streams from thousands of nodes keeps the last
 * message of each. One instance per stream; not thread-safe.
 */
public final class BriefReports {
  /**
   * Once the last whole report is this old, the next one is whole: every third without other
   * changes. What an extender could not do with one, such as writing an Event, it retries with the
   * next.
   */
  public static final long WHOLE_EVERY_MS = 14_000;

  private NodeReport lastWhole = NodeReport.getDefaultInstance();
  private long lastWholeAtMs;

  /**
   * @param whole with its sequence, times and applied directive
   */
  public NodeReport of(NodeReport whole) {
    NodeReport stable = withoutVolatileFields(whole);
    long ageMs = whole.getSentAtMs() - lastWholeAtMs;
    // The clock may have been set back.
    boolean recent = ageMs >= 0 && ageMs < WHOLE_EVERY_MS;
    if (recent && whole.getGpusCount() > 0 && stable.equals(lastWhole)) {
      return brief(whole);
    }
    lastWhole = stable;
    lastWholeAtMs = whole.getSentAtMs();
    return whole;
  }

  /** Returns the report without the fields that differ between any two reports. */
  private static NodeReport withoutVolatileFields(NodeReport whole) {
    NodeReport.Builder stable =
        whole.toBuilder().clearSequence().clearSentAtMs().clearAppliedDirective();
    stable.clearHoldingsAgeMs();
    stable.getGpusBuilderList().forEach(gpu -> gpu.clearLoad().clearPodUses());
    stable.getAssignmentsBuilderList().forEach(Assignment.Builder::clearExpiresInMs);
    return stable.build();
  }

  private static NodeReport brief(NodeReport whole) {
    NodeReport.Builder brief =
        NodeReport.newBuilder()
            .setSequence(whole.getSequence())
            .setSentAtMs(whole.getSentAtMs())
            .setAppliedDirective(whole.getAppliedDirective());
    if (whole.hasHoldingsAgeMs()) {
      brief.setHoldingsAgeMs(whole.getHoldingsAgeMs());
    }
    whole.getGpusList().forEach(gpu -> brief.addReadings(reading(gpu)));
    return brief.build();
  }

  private static GpuReading.Builder reading(Gpu gpu) {
    GpuReading.Builder reading = GpuReading.newBuilder().addAllPodUses(gpu.getPodUsesList());
    return gpu.hasLoad() ? reading.setLoad(gpu.getLoad()) : reading;
  }
}
