package dev.tranche.extender.readapi.row;

import com.fasterxml.jackson.annotation.JsonClassDescription;
import com.fasterxml.jackson.annotation.JsonPropertyDescription;
import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.load.LoadReading;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** A pod that holds replicas of a GPU. */
@JsonClassDescription(
    "sm is a weighted mean of what the pod uses, with a half-life of a third of --measured-after-ms, 10 s by default.")
public record Holder(
    String namespace,
    String name,
    String uid,
    int replicas,
    @JsonPropertyDescription(
            "Differs from the GPU's if the share was sized by an earlier configuration.")
        int replicasPerGpu,
    Stage stage,
    @Nullable GpuQuantity sm,
    @Nullable MemoryQuantity memory,
    @JsonPropertyDescription(
            "Since when the pod has not worked on the GPU. Absent if it did within the last minute, or if that is not known.")
        @Nullable Instant idleSince) {
  static Holder of(Inspection.Gpu gpu, Hold hold) {
    LoadReading reading = gpu.reading().orElse(null);
    Double sm = reading == null || !gpu.view().measured() ? null : reading.smOf(hold.key());
    Long memory = reading == null ? null : reading.memoryBytesOf(hold.key());
    return new Holder(
        namespace(hold),
        name(hold),
        hold.uid(),
        replicas(gpu, hold),
        replicasPerGpu(gpu, hold),
        Stage.of(hold),
        sm == null ? null : GpuQuantity.of(sm),
        memory == null ? null : new MemoryQuantity(memory),
        gpu.idleSince().get(hold.uid()));
  }

  static int replicas(Inspection.Gpu gpu, Hold hold) {
    return hold.held().getOrDefault(gpu.view().uuid(), 0);
  }

  /** Returns R of the hold's share, which may be that of an earlier config. */
  static int replicasPerGpu(Inspection.Gpu gpu, Hold hold) {
    return gpu.formerReplicas().getOrDefault(hold.uid(), gpu.view().replicas());
  }

  static String name(Hold hold) {
    return hold.key().substring(hold.key().indexOf('/') + 1);
  }

  static String namespace(Hold hold) {
    return hold.key().substring(0, hold.key().indexOf('/'));
  }
}
