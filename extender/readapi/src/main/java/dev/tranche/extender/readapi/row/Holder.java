package dev.tranche.extender.readapi.row;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Hold.Stage;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A pod that holds replicas of a GPU.
 *
 * @param overuses true if it uses much more memory than granted; null otherwise
 */
public record Holder(
    String namespace,
    String name,
    String uid,
    int replicas,
    int replicasPerGpu,
    Stage stage,
    @Nullable GpuQuantity sm,
    @Nullable MemoryQuantity memory,
    @Nullable Instant idleSince,
    @Nullable Boolean overuses) {
  static Holder of(Inspection.Gpu gpu, Hold hold) {
    var used = Pod.Used.of(gpu, hold);
    return new Holder(
        hold.namespace(),
        name(hold),
        hold.uid(),
        replicas(gpu, hold),
        replicasPerGpu(gpu, hold),
        hold.stage(),
        used.gpus(),
        used.memory(),
        gpu.idleSince().get(hold.uid()),
        Overuse.by(gpu, hold) ? true : null);
  }

  static int replicas(Inspection.Gpu gpu, Hold hold) {
    return hold.held().getOrDefault(gpu.view().uuid(), 0);
  }

  /** Returns R of the hold's share, which may be that of an earlier config. */
  static int replicasPerGpu(Inspection.Gpu gpu, Hold hold) {
    return gpu.formerReplicas().getOrDefault(hold.uid(), gpu.view().replicas());
  }

  public static String name(Hold hold) {
    return hold.key().substring(hold.key().indexOf('/') + 1);
  }
}
