package dev.tranche.extender.explain;

import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Limited;
import dev.tranche.extender.ledger.NodeView;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.placement.GpuView;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * A snapshot of all that the extender knows, taken on its loop and read on other threads.
 *
 * @param pods pods that request GPUs, in no order
 */
public record Inspection(
    List<Node> nodes, Map<String, Integer> holdsByStage, List<PodFacts> pods, Instant at) {
  static final String CONFIRMED = "confirmed";

  /** The names of the stages in metrics. */
  static final Map<Hold.Stage, String> STAGES =
      Arrays.stream(Hold.Stage.values())
          .collect(
              Collectors.toUnmodifiableMap(
                  stage -> stage, stage -> stage.name().toLowerCase(Locale.ROOT)));

  public Inspection(List<Node> nodes, Map<String, Integer> holdsByStage) {
    this(nodes, holdsByStage, List.of(), Instant.EPOCH);
  }

  /**
   * @param at when this snapshot of the node was taken; it is reused while the node stays the same
   */
  public record Node(
      String name,
      NodeView.Availability availability,
      List<Gpu> gpus,
      List<Hold> unplaced,
      Instant at) {}

  /**
   * @param smMean mean SM load of the last reading; the node plugin sets its half-life
   * @param ageMs age of the last reading when the node was read; -1 without one
   * @param formerReplicas R that a pod's replicas were granted in, by the pod's uid, if it is not
   *     the GPU's current R
   * @param reading the last reading, for the use of single pods
   * @param idleSince since when pods have not worked on the GPU, by uid; only of those that have
   *     been idle for a while
   * @param limited by {@code namespace/pod}, of those whose memory must be limited
   */
  public record Gpu(
      GpuView view,
      int unattributedReplicas,
      double smMean,
      long memoryUsedBytes,
      long ageMs,
      List<Hold> holds,
      Map<String, Integer> formerReplicas,
      Optional<LoadReading> reading,
      Map<String, Instant> idleSince,
      Map<String, Limited> limited) {
    /** Whether {@code memoryUsedBytes} was measured. */
    public boolean memoryKnown() {
      return reading.map(LoadReading::memoryKnown).orElse(false);
    }

    /** SM utilization by the last reading alone. */
    public double sm() {
      return reading.map(LoadReading::sm).orElse(smMean);
    }
  }

  /** Returns the age of a GPU's last reading at {@code at}; -1 without one. */
  public long ageMs(Node node, Gpu gpu) {
    return gpu.ageMs() < 0
        ? -1
        : gpu.ageMs() + Math.max(0, Duration.between(node.at(), at).toMillis());
  }

  /** Returns the name of the stage of a hold in metrics. */
  public static String stage(Hold hold) {
    return hold.confirmed() ? CONFIRMED : Objects.requireNonNull(STAGES.get(hold.stage()));
  }
}
