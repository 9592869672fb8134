package dev.tranche.extender.readapi.row;

import com.fasterxml.jackson.annotation.JsonClassDescription;
import com.fasterxml.jackson.annotation.JsonPropertyDescription;
import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.extender.ledger.PodFacts;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a pod requests. */
@JsonClassDescription(
    "What a pod requests of GPUs. share and gpus are absent where the containers' shares differ, or where the number of replicas of a GPU is not known.")
public record Requested(
    int replicas,
    @JsonPropertyDescription("The number of GPUs, each with that share.") @Nullable Integer gpus,
    @JsonPropertyDescription("Of each GPU.") @Nullable GpuQuantity share,
    @JsonPropertyDescription("The annotation gpu-memory.") @Nullable String memory,
    @JsonPropertyDescription(
            "The annotation gpu-memory-limit: none, or a limit below that of the share.")
        @Nullable String memoryLimit,
    @JsonPropertyDescription("The annotation gpu-model.") @Nullable String model) {
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
