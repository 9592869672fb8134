package dev.tranche.extender.explain;

import dev.tranche.api.Demand;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Placer;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.snapshot.NodeFit;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** Describes refusals GPU by GPU, for people. */
public final class FitErrorText {
  /** Characters of an event's message; the API server refuses more than 1,024. */
  private static final int EVENT_CHARS_MAX = 1_000;

  private static final int EVENT_NODES_MAX = 3;

  /** Shares whose sizes are listed. */
  private static final int SHARES_MAX = 16;

  private FitErrorText() {}

  /** Returns a text such as {@code gpu 0: 1 of 10 replicas free, needs 3}. */
  public static String gpu(NodeFit evaluation, GpuView gpu) {
    String free =
        "gpu %d: %d of %d replicas free, needs %s"
            .formatted(gpu.index(), gpu.freeReplicas(), gpu.replicas(), needs(evaluation));
    Optional<Reason> ineligible = Placer.ineligible(evaluation.request(), gpu);
    if (ineligible.isPresent()) {
      return free + "; " + why(ineligible.get(), evaluation, gpu);
    }
    if (gpu.replicasByMemory() < gpu.freeReplicas()) {
      return free
          + "; real free memory %s backs %d replicas"
              .formatted(bytes(gpu.memoryFreeBytes()), gpu.replicasByMemory());
    }
    if (gpu.freeClients() != GpuView.UNLIMITED) {
      return free + "; %d MPS client slots free".formatted(gpu.freeClients());
    }
    return free;
  }

  private static String why(Reason reason, NodeFit evaluation, GpuView gpu) {
    return switch (reason) {
      case NO_GPU -> "it serves " + gpu.resource();
      case OTHER_REPLICAS ->
          "the share was sized for GPUs of %d replicas; delete the pod and have it created again"
              .formatted(evaluation.request().demand().replicasPerGpu());
      case NOT_ALLOWED -> gpu.model() + " " + gpu.uuid() + " is not in the pod's lists";
      case UNFIT -> unfit(gpu);
      default -> reason.sentence();
    };
  }

  private static String unfit(GpuView gpu) {
    String state = gpu.healthy() ? "cordoned" : "unhealthy";
    return gpu.unfitBecause().isEmpty() ? state : state + ": " + gpu.unfitBecause();
  }

  /**
   * Returns the most replicas that one GPU of the node could give the pod. Only GPUs that may serve
   * the pod count; the sum over the node may be more.
   */
  public static int largestFreeOnOneGpu(NodeFit evaluation) {
    return evaluation.gpus().stream()
        .filter(g -> g.freeClients() > 0 && Placer.ineligible(evaluation.request(), g).isEmpty())
        .mapToInt(g -> Math.min(g.freeReplicas(), g.replicasByMemory()))
        .max()
        .orElse(0);
  }

  /**
   * Returns the replicas that the pod needs: one number if it needs one GPU, else all its shares.
   */
  private static String needs(NodeFit evaluation) {
    var demand = evaluation.request().demand();
    if (demand.onOneGpu()) {
      return Integer.toString(demand.peakReplicas());
    }
    List<Integer> shares =
        demand.containers().stream()
            .flatMapToInt(Demand.Container::eachShare)
            .limit(SHARES_MAX + 1)
            .boxed()
            .toList();
    if (shares.size() > SHARES_MAX) {
      long count = demand.containers().stream().mapToLong(Demand.Container::gpus).sum();
      return "%d shares, %d replicas in all".formatted(count, demand.peakReplicas());
    }
    String sum = shares.stream().map(String::valueOf).collect(Collectors.joining(" + "));
    return shares.size() == 1 ? sum : sum + " in all";
  }

  static String node(NodeFit evaluation) {
    String reason = evaluation.outcome().refusal().map(Reason::sentence).orElse("fits");
    var text = new StringBuilder("node ").append(evaluation.node()).append(": ").append(reason);
    if (!evaluation.gpus().isEmpty()) {
      text.append("; largest hole ").append(largestFreeOnOneGpu(evaluation));
    }
    evaluation.gpus().forEach(gpu -> text.append("; ").append(gpu(evaluation, gpu)));
    return text.toString();
  }

  /** Returns an event's text, with the nodes nearest to fitting first. */
  static String event(List<NodeFit> evaluations) {
    var nearest =
        Refusals.of(evaluations).nearest().stream()
            .limit(EVENT_NODES_MAX)
            .map(FitErrorText::node)
            .toList();
    String text = "no GPU has room. " + String.join(". ", nearest);
    int more = evaluations.size() - nearest.size();
    if (more > 0) {
      text += ". And " + more + " more nodes: kubectl tranche explain tells";
    }
    return text.length() <= EVENT_CHARS_MAX ? text : text.substring(0, EVENT_CHARS_MAX - 1) + "…";
  }

  static String bytes(long bytes) {
    return String.format(Locale.ROOT, "%.1f GiB", bytes / (double) (1L << 30));
  }
}
