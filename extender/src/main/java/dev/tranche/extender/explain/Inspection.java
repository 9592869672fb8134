package dev.tranche.extender.explain;

import dev.tranche.extender.ledger.Hold;
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
 * A picture of all that the extender knows, taken on its loop and read elsewhere.
 *
 * @param waitingPods rejected ones that are woken when a GPU has room
 * @param pods that ask for GPUs, in no order
 */
public record Inspection(
    List<Node> nodes,
    Map<String, Integer> holdsByStage,
    int waitingPods,
    List<PodFacts> pods,
    Instant at) {
  static final String CONFIRMED = "confirmed";

  /** As they are called in metrics and pages. */
  static final Map<Hold.Stage, String> STAGES =
      Arrays.stream(Hold.Stage.values())
          .collect(
              Collectors.toUnmodifiableMap(
                  stage -> stage, stage -> stage.name().toLowerCase(Locale.ROOT)));

  public Inspection(List<Node> nodes, Map<String, Integer> holdsByStage, int waitingPods) {
    this(nodes, holdsByStage, waitingPods, List.of(), Instant.EPOCH);
  }

  /**
   * @param at when it was looked at: one that stays the same is looked at once
   */
  public record Node(
      String name,
      NodeView.Availability availability,
      List<Gpu> gpus,
      List<Hold> unplaced,
      Instant at) {}

  /**
   * @param smMean that of the last reading; its half-life is the node plugin's
   * @param ageMs of the last reading when its node was looked at; -1 without one
   * @param formerReplicas R that a pod's share was sized for, by uid, where it is not the GPU's R
   *     of now
   * @param reading the last one, for what single pods use
   */
  public record Gpu(
      GpuView view,
      int strayReplicas,
      double smMean,
      long memoryUsedBytes,
      long ageMs,
      List<Hold> holds,
      Map<String, Integer> formerReplicas,
      Optional<LoadReading> reading) {
    /** SM utilization by the last reading alone. */
    public double sm() {
      return reading.map(LoadReading::sm).orElse(smMean);
    }
  }

  /** How old a GPU's last reading is by now; -1 without one. */
  public long ageMs(Node node, Gpu gpu) {
    return gpu.ageMs() < 0
        ? -1
        : gpu.ageMs() + Math.max(0, Duration.between(node.at(), at).toMillis());
  }

  /** As it is called in metrics and pages. */
  public static String stage(Hold hold) {
    return hold.confirmed() ? CONFIRMED : Objects.requireNonNull(STAGES.get(hold.stage()));
  }
}
