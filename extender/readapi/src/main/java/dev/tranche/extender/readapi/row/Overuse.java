package dev.tranche.extender.readapi.row;

import dev.tranche.extender.explain.FitErrorText;
import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.readapi.row.Snapshot.GpuRow;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Measured memory of a GPU that nobody was granted. */
final class Overuse {
  /** Of the GPU's memory: drivers and contexts use some. */
  private static final double TOLERANCE = 0.1;

  private Overuse() {}

  /** Whether a pod uses much more memory of the GPU than it was granted. */
  static boolean by(Inspection.Gpu gpu, Hold hold) {
    MemoryQuantity used = Pod.Used.of(gpu, hold).memory();
    return gpu.view().measured()
        && used != null
        && used.bytes() > AmountSum.bytes(gpu, hold) + tolerated(gpu);
  }

  /** Says what is used beyond the grants, and by whom if that is known; null if it is not much. */
  static @Nullable String of(GpuRow row, View shown) {
    Inspection.Gpu gpu = row.gpu();
    for (Hold hold : gpu.holds()) {
      MemoryQuantity used = Pod.Used.of(gpu, hold).memory();
      if (used != null && by(gpu, hold)) {
        return "%s uses %s of %s"
            .formatted(
                shown.shows(hold) ? Holder.name(hold) : "a pod of another namespace",
                FitErrorText.bytes(used.bytes()),
                FitErrorText.bytes(AmountSum.bytes(gpu, hold)));
      }
    }
    var granted = new AmountSum();
    granted.addWhole(row);
    long above = gpu.reading().memoryUsedBytes() - granted.amount().memory().bytes();
    if (!isMeasured(gpu) || above <= tolerated(gpu)) {
      return null;
    }
    MemoryQuantity ofNoPod = ofNoPod(gpu);
    return ofNoPod != null && ofNoPod.bytes() > tolerated(gpu)
        ? FitErrorText.bytes(ofNoPod.bytes()) + " used by no pod"
        : FitErrorText.bytes(above) + " more than granted";
  }

  /** Returns the memory that no pod uses; null where the node cannot tell pods apart. */
  static @Nullable MemoryQuantity ofNoPod(Inspection.Gpu gpu) {
    Map<String, Long> uses = gpu.reading().memoryUsedBytesByPod();
    if (!isMeasured(gpu) || (uses.isEmpty() && !gpu.holds().isEmpty())) {
      return null;
    }
    long ofPods = gpu.holds().stream().mapToLong(hold -> uses.getOrDefault(hold.key(), 0L)).sum();
    return new MemoryQuantity(Math.max(0, gpu.reading().memoryUsedBytes() - ofPods));
  }

  private static boolean isMeasured(Inspection.Gpu gpu) {
    return gpu.view().measured() && gpu.reading().memoryKnown();
  }

  private static double tolerated(Inspection.Gpu gpu) {
    return gpu.view().memoryUsableBytes() * TOLERANCE;
  }
}
