package dev.tranche.extender.readapi.row;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.load.LoadReading;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What a bound pod is granted and uses of one GPU.
 *
 * @param usedBytes null: not known
 * @param sm part of the GPU's time, 0 to 1; null: not known
 */
public record PodUse(
    Inspection.Gpu gpu,
    String node,
    String namespace,
    String pod,
    long grantedBytes,
    @Nullable Long usedBytes,
    @Nullable Double sm) {
  /** What the node plugin tolerates by default. */
  private static final double TOLERANCE = 0.05;

  /** Returns the uses in the order of nodes and GPUs. */
  public static Stream<PodUse> of(Snapshot snapshot) {
    return snapshot.gpus.stream().flatMap(row -> bound(row).map(hold -> of(row.gpu(), hold)));
  }

  /** Returns how many uses there are. */
  public static int count(Snapshot snapshot) {
    return (int) snapshot.gpus.stream().flatMap(PodUse::bound).count();
  }

  private static Stream<Hold> bound(Snapshot.GpuRow row) {
    return row.gpu().holds().stream().filter(hold -> hold.stage() == Hold.Stage.BOUND);
  }

  private static PodUse of(Inspection.Gpu gpu, Hold hold) {
    LoadReading reading = gpu.view().measured() ? gpu.reading().orElse(null) : null;
    return new PodUse(
        gpu,
        hold.node(),
        hold.namespace(),
        Holder.name(hold),
        Grants.bytes(gpu, hold),
        reading == null ? null : reading.memoryBytesOf(hold.key()),
        reading == null ? null : reading.smOf(hold.key()));
  }

  /** Whether the pod uses more than it is granted, beyond a tolerance of 5 %. */
  public boolean overuse() {
    return usedBytes != null && usedBytes > grantedBytes * (1 + TOLERANCE);
  }
}
