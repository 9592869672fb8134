package dev.tranche.api;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.GpuReading;
import dev.tranche.api.node.NodeDirective;
import dev.tranche.api.node.NodeReport;

/**
 * What a stream says of a state: all of it, or the readings alone where nothing else has changed
 * since the stream's last whole report. A node of 800 held replicas names each of them in a whole
 * report, and an extender that hears thousands of nodes keeps the last message of each. One per
 * stream; not for several threads.
 */
public final class BriefReports {
  /**
   * So often a report is whole whatever happens: every third of those that bring no news. What an
   * extender could not do with one, such as writing an event, it tries again with the next.
   */
  public static final long WHOLE_EVERY_MS = 14_000;

  private NodeReport told = NodeReport.getDefaultInstance();
  private long toldAtMs;
  private boolean taken;

  /** The other side may say that it takes them. */
  public void directed(NodeDirective directive) {
    taken |= directive.getTakesBriefReports();
  }

  /**
   * @param whole with its sequence, times and applied directive
   */
  public NodeReport of(NodeReport whole) {
    if (!taken || whole.getGpusCount() == 0) {
      told = NodeReport.getDefaultInstance();
      return whole;
    }
    NodeReport lasting = lasting(whole);
    long ageMs = whole.getSentAtMs() - toldAtMs;
    // The clock may have been set back.
    if (ageMs >= 0 && ageMs < WHOLE_EVERY_MS && lasting.equals(told)) {
      return brief(whole);
    }
    told = lasting;
    toldAtMs = whole.getSentAtMs();
    return whole;
  }

  /** Without what differs between any two reports. */
  private static NodeReport lasting(NodeReport whole) {
    NodeReport.Builder lasting =
        whole.toBuilder().clearSequence().clearSentAtMs().clearAppliedDirective();
    lasting.clearHoldingsAgeMs();
    lasting.getGpusBuilderList().forEach(gpu -> gpu.clearLoad().clearPodUses());
    lasting.getAssignmentsBuilderList().forEach(Assignment.Builder::clearExpiresInMs);
    return lasting.build();
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
