package dev.tranche.extender.readapi.row;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.extender.ledger.PodFacts;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a pod requests. */
public record Requested(
    int replicas,
    @Nullable Integer gpus,
    @Nullable GpuQuantity share,
    @Nullable String memory,
    @Nullable String memoryLimit,
    @Nullable String model) {
  static Requested of(PodFacts pod) {
    Map<String, String> annotations = pod.annotations();
    int replicasPerGpu = pod.stampedReplicas().orElse(0);
    Demand.@Nullable Shares equal = replicasPerGpu == 0 ? null : equal(pod.demand(replicasPerGpu));
    return new Requested(
        (int) Math.min(Integer.MAX_VALUE, Demand.peakReplicas(pod.requests())),
        equal == null ? null : equal.count(),
        equal == null ? null : GpuQuantity.of((double) equal.replicas() / replicasPerGpu),
        text(annotations.get(Names.GPU_MEMORY)),
        text(annotations.get(Names.GPU_MEMORY_LIMIT)),
        text(annotations.get(Names.GPU_MODEL)));
  }

  private static Demand.@Nullable Shares equal(Demand demand) {
    List<Demand.Container> containers = demand.containers();
    return containers.size() == 1 && containers.getFirst().shares().size() == 1
        ? containers.getFirst().shares().getFirst()
        : null;
  }

  private static @Nullable String text(@Nullable String annotation) {
    return annotation == null ? null : Printable.name(annotation);
  }
}
