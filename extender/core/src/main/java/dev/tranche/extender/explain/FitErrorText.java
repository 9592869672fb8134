package dev.tranche.extender.explain;

import static java.util.stream.Collectors.joining;

import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Placer;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.snapshot.NodeFit;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Describes refusals GPU by GPU, for people, in fractions of a GPU. */
public final class FitErrorText {
  private static final int EVENT_NODES_MAX = 3;

  /** Less is what an idle driver uses. */
  private static final long NOTICED_BYTES = 1L << 30;

  private FitErrorText() {}

  /** Returns a text such as {@code gpu 0: 0.1 free, needs 0.3 of one GPU}. */
  public static String gpu(NodeFit evaluation, GpuView gpu) {
    String free =
        "gpu %d: %s free, needs %s"
            .formatted(
                gpu.index(),
                ShareText.fraction(gpu.freeReplicas(), gpu.replicas()),
                ShareText.needs(evaluation.request().demand()));
    Optional<Reason> ineligible = Placer.ineligible(evaluation.request(), gpu);
    if (ineligible.isPresent()) {
      return free + "; " + why(ineligible.get(), evaluation, gpu);
    }
    if (gpu.replicasByMemory() < gpu.freeReplicas()) {
      return free
          + "; measured free memory of %s is enough for %s"
              .formatted(
                  bytes(gpu.memoryFreeBytes()),
                  ShareText.fraction(gpu.replicasByMemory(), gpu.replicas()))
          + (gpu.memoryUnattributedBytes() < NOTICED_BYTES
              ? ""
              : "; %s is used that no pod was granted"
                  .formatted(bytes(gpu.memoryUnattributedBytes())));
    }
    if (gpu.freeClients() != GpuView.UNLIMITED) {
      return free + "; %d MPS client slots free".formatted(gpu.freeClients());
    }
    return free;
  }

  private static String why(Reason reason, NodeFit evaluation, GpuView gpu) {
    return switch (reason) {
      case NO_GPU -> "it is advertised as " + gpu.resource();
      case OTHER_REPLICAS ->
          "the share is counted in steps of %s of a GPU, and this one is shared in steps of %s; recreate the pod"
              .formatted(
                  ShareText.fraction(1, evaluation.request().demand().replicasPerGpu()),
                  ShareText.fraction(1, gpu.replicas()));
      case NOT_ALLOWED ->
          gpu.model() + " " + gpu.uuid() + " is excluded by the pod's GPU models or uuids";
      case UNFIT -> unfit(gpu);
      case FAILED,
          NO_REPORT,
          NOT_SERVING,
          NOT_ACKNOWLEDGING,
          FULL,
          FRAGMENTED,
          TOO_FEW_GPUS,
          CLIENTS,
          MEMORY,
          SERVED_BY_PLUGIN,
          UNDECIDED ->
          reason.sentence;
    };
  }

  /**
   * Returns why a GPU takes no pods, for readers of any namespace. A node's reason for a cordon
   * names the pods that use too much, so it is not repeated.
   */
  public static String unfit(GpuView gpu) {
    String state = gpu.healthy() ? "cordoned" : "unhealthy";
    if (gpu.unfitBecause().isEmpty()) {
      return state;
    }
    return gpu.healthy()
        ? state + ": more memory than granted is used there"
        : state + ": " + gpu.unfitBecause();
  }

  /**
   * Returns the most replicas that one GPU of the node could give the pod. Only GPUs that may serve
   * the pod count; the sum over the node may be more.
   */
  public static int largestFreeOnOneGpu(NodeFit evaluation) {
    int largest = 0;
    // Without an iterator for each of thousands of nodes.
    for (int i = 0; i < evaluation.gpus().size(); i++) {
      GpuView gpu = evaluation.gpus().get(i);
      if (gpu.freeShare() > largest && Placer.ineligible(evaluation.request(), gpu).isEmpty()) {
        largest = gpu.freeShare();
      }
    }
    return largest;
  }

  /** Describes the node by its GPUs; without any, by the reason for which it is refused. */
  static String node(NodeFit evaluation) {
    Reason refusal = evaluation.refusal();
    String alone = refusal == null ? "fits" : refusal.sentence;
    String gpus =
        evaluation.gpus().stream().map(gpu -> gpu(evaluation, gpu)).collect(joining("; "));
    return "node %s: %s".formatted(evaluation.node(), gpus.isEmpty() ? alone : gpus);
  }

  /** Returns the figures of the nodes nearest to fitting, for an event. */
  public static String figures(Refusals refused) {
    List<String> nearest =
        refused.nearest().stream().limit(EVENT_NODES_MAX).map(FitErrorText::node).toList();
    String text = String.join(". ", nearest);
    int more = refused.count() - nearest.size();
    return more > 0 ? text + ". " + more + " more nodes: see kubectl tranche explain" : text;
  }

  public static String bytes(long bytes) {
    return String.format(Locale.ROOT, "%.1f GiB", bytes / (double) (1L << 30));
  }
}
