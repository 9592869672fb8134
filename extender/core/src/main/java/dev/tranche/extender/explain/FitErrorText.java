package dev.tranche.extender.explain;

import static java.util.stream.Collectors.joining;

import dev.tranche.api.Demand;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Placer;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.snapshot.NodeFit;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

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
          + "; measured free memory of %s is enough for %d replicas"
              .formatted(bytes(gpu.memoryFreeBytes()), gpu.replicasByMemory());
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
          "the share was sized for GPUs of %d replicas; recreate the pod"
              .formatted(evaluation.request().demand().replicasPerGpu());
      case NOT_ALLOWED ->
          gpu.model() + " " + gpu.uuid() + " is excluded by the pod's GPU models or uuids";
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

  /** Returns what the pod needs: a number of replicas if it needs one GPU, else its shares. */
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
      return "%d replicas in %d shares".formatted(demand.peakReplicas(), count);
    }
    if (shares.size() == 1) {
      return shares.getFirst().toString();
    }
    Demand.Container first = demand.containers().getFirst();
    // Shares of several containers may be on the same GPU, and a plain request may be split.
    boolean separate = demand.containers().size() == 1 && !first.mayUseSeveralGpus();
    return separate && first.shares().size() == 1
        ? "%d GPUs with %d free each".formatted(shares.size(), shares.getFirst())
        : shares.stream().map(String::valueOf).collect(joining(", ", "shares of ", " replicas"));
  }

  static String node(NodeFit evaluation) {
    String reason = evaluation.outcome().refusal().map(Reason::sentence).orElse("fits");
    var text = new StringBuilder("node ").append(evaluation.node()).append(": ").append(reason);
    if (!evaluation.gpus().isEmpty()) {
      text.append("; at most %d free on one GPU".formatted(largestFreeOnOneGpu(evaluation)));
    }
    evaluation.gpus().forEach(gpu -> text.append("; ").append(gpu(evaluation, gpu)));
    return text.toString();
  }

  /**
   * Returns an event's text, with the nodes nearest to fitting first.
   *
   * @param gang what the pod's gang lacks, a clause
   */
  static String event(List<NodeFit> evaluations, Optional<String> gang) {
    var nearest =
        Refusals.of(evaluations).nearest().stream()
            .limit(EVENT_NODES_MAX)
            .map(FitErrorText::node)
            .toList();
    String text =
        "no GPU fits the pod"
            + gang.map(clause -> "; " + clause).orElse("")
            + ". "
            + String.join(". ", nearest);
    int more = evaluations.size() - nearest.size();
    if (more > 0) {
      text += ". " + more + " more nodes: see kubectl tranche explain";
    }
    return text.length() <= EVENT_CHARS_MAX ? text : text.substring(0, EVENT_CHARS_MAX - 1) + "…";
  }

  static String bytes(long bytes) {
    return String.format(Locale.ROOT, "%.1f GiB", bytes / (double) (1L << 30));
  }
}
