package dev.tranche.extender.explain;

import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Hold.Stage;
import dev.tranche.extender.ledger.Limited;
import dev.tranche.extender.ledger.NodeView.Availability;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.placement.GpuView;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * A snapshot of all that the extender knows, taken on its loop and read on other threads.
 *
 * @param pods pods that request GPUs, in no order
 */
public record Inspection(
    List<Node> nodes, Map<Stage, Integer> holdsByStage, List<PodFacts> pods, Instant at) {
  public static final Inspection NONE =
      new Inspection(List.of(), Map.of(), List.of(), Instant.EPOCH);

  /**
   * @param at when this snapshot of the node was taken; it is reused while the node stays the same
   */
  public record Node(
      String name, Availability availability, List<Gpu> gpus, List<Hold> unplaced, Instant at) {}

  /**
   * @param ageMs age of the last reading when the node was read; -1 without one
   * @param formerReplicas R that a pod's replicas were granted in, by the pod's uid, if it is not
   *     the GPU's current R
   * @param reading the last reading; {@link LoadReading#NONE} without one
   * @param idleSince since when pods have not worked on the GPU, by uid; only of those that have
   *     been idle for a while
   * @param limited by {@code namespace/pod}, of those whose memory must be limited
   */
  public record Gpu(
      GpuView view,
      long ageMs,
      List<Hold> holds,
      Map<String, Integer> formerReplicas,
      LoadReading reading,
      Map<String, Instant> idleSince,
      Map<String, Limited> limited) {}

  /** Returns the age of a GPU's last reading at {@code at}; -1 without one. */
  public long ageMs(Node node, Gpu gpu) {
    return gpu.ageMs() < 0
        ? -1
        : gpu.ageMs() + Math.max(0, Duration.between(node.at(), at).toMillis());
  }
}
