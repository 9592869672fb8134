package dev.tranche.extender.readapi.row;

import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What pods hold of GPUs and do not use.
 *
 * @param unused of what is held; what is not measured is not counted
 * @param items the pods that leave most unused, those first
 */
public record WasteList(Instant time, GpuQuantity held, GpuQuantity unused, List<Pod> items) {
  static final int PODS_MAX = 100;

  /**
   * @param namespace null for all
   */
  public static WasteList of(Snapshot snapshot, @Nullable String namespace) {
    List<Pod> holders =
        snapshot.pods.stream()
            .filter(row -> namespace == null || namespace.equals(row.pod().namespace()))
            .map(row -> Pod.of(row, null))
            .filter(pod -> pod.granted() != null)
            .toList();
    return new WasteList(
        snapshot.inspection.at(),
        sum(holders, pod -> pod.granted() == null ? null : pod.granted().gpus()),
        sum(holders, Pod::unused),
        holders.stream()
            .filter(pod -> milli(pod.unused()) > 0)
            .sorted(Comparator.comparingLong((Pod pod) -> -milli(pod.unused())))
            .limit(PODS_MAX)
            .toList());
  }

  private static GpuQuantity sum(List<Pod> pods, Function<Pod, @Nullable GpuQuantity> part) {
    return new GpuQuantity(pods.stream().mapToLong(pod -> milli(part.apply(pod))).sum());
  }

  private static long milli(@Nullable GpuQuantity quantity) {
    return quantity == null ? 0 : quantity.milli();
  }
}
