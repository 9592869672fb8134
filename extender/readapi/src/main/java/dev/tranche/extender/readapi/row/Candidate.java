package dev.tranche.extender.readapi.row;

import dev.tranche.api.Printable;
import dev.tranche.extender.explain.FitErrorText;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.snapshot.NodeFit;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A node that a pod fits on or not, with its GPUs. */
public record Candidate(
    String node,
    @Nullable String message,
    int largestShareReplicas,
    List<CandidateGpu> gpus,
    @Nullable List<CandidateGpu> chosenGpus,
    @Nullable Integer score) {
  /**
   * @param message what the GPU is able to take, or why it takes nothing
   */
  public record CandidateGpu(
      int index,
      String uuid,
      String model,
      int replicas,
      int freeReplicas,
      int largestShareReplicas,
      MemoryQuantity memory,
      Effective effective,
      String message) {
    private static CandidateGpu of(NodeFit node, GpuView gpu) {
      return new CandidateGpu(
          gpu.index(),
          gpu.uuid(),
          Printable.name(gpu.model()),
          gpu.replicas(),
          gpu.freeReplicas(),
          gpu.takesPods() ? gpu.freeShare() : 0,
          new MemoryQuantity(gpu.memoryUsableBytes()),
          Effective.of(gpu),
          Printable.message(FitErrorText.gpu(node, gpu)));
    }
  }

  static Candidate of(NodeFit node) {
    return of(node, null);
  }

  static Candidate of(NodeFit node, @Nullable Integer score) {
    return of(node, score, null);
  }

  /**
   * @param taken the GPUs that the pod got
   */
  static Candidate of(NodeFit node, @Nullable Integer score, @Nullable List<GpuView> taken) {
    return new Candidate(
        node.node(),
        node.refusal() == null ? null : node.refusal().sentence,
        FitErrorText.largestFreeOnOneGpu(node),
        gpus(node, node.gpus()),
        taken == null ? null : gpus(node, taken),
        score);
  }

  private static List<CandidateGpu> gpus(NodeFit node, List<GpuView> gpus) {
    return gpus.stream().map(gpu -> CandidateGpu.of(node, gpu)).toList();
  }
}
