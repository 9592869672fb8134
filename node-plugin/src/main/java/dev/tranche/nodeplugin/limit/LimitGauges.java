package dev.tranche.nodeplugin.limit;

import static java.util.stream.Collectors.joining;

import dev.tranche.nodeplugin.gpu.NodeProblem;
import dev.tranche.nodeplugin.limit.ContainerLimit.Limited;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/** What people see of the memory limits that were read back. */
public final class LimitGauges {
  private static final int NAMED_MAX = 3;

  private LimitGauges() {}

  public static void register(NodeMetrics metrics, Supplier<List<ContainerLimit>> limits) {
    for (Limited limited : Limited.values()) {
      metrics.gauge(
          "tranche.node.containers.limited",
          "Running containers with a share that must have a memory limit, by what was read back.",
          () -> limits.get().stream().filter(limit -> limit.limited() == limited).count(),
          "limited",
          limited.text());
    }
  }

  /** Returns the containers that are not limited to their share. */
  public static Optional<NodeProblem> problem(List<ContainerLimit> limits) {
    List<ContainerLimit> wrong = limits.stream().filter(limit -> limit.limited().wrong()).toList();
    return NodeProblem.of(
        NodeProblem.Reason.CONTAINER_MEMORY_NOT_LIMITED,
        wrong.size(),
        () ->
            "%d containers are not limited to their share of GPU memory: %s%s; remove NVIDIA_GPU_MEMORY_LIMIT from their images, check the mode of NVIDIA's container runtime, and delete the pods; their owners recreate them"
                .formatted(
                    wrong.size(),
                    wrong.stream()
                        .limit(NAMED_MAX)
                        .map(LimitGauges::describe)
                        .collect(joining(", ")),
                    wrong.size() > NAMED_MAX ? " and others" : ""));
  }

  private static String describe(ContainerLimit limit) {
    String has =
        limit.limited() == Limited.NO
            ? "has no limit"
            : "has a limit of " + (limit.hardBytes() >> 20) + " MiB";
    return "%s on %s %s".formatted(limit.container(), limit.uuid(), has);
  }
}
