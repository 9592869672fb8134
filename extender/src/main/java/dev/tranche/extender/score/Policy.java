package dev.tranche.extender.score;

import dev.tranche.extender.placement.GpuOrder;
import dev.tranche.extender.placement.GpuView;
import java.util.Comparator;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** How GPUs compare: each policy is one line of a table. */
public enum Policy {
  /** Least {@link Overload} to be expected, then most free memory. */
  LOAD(
      share ->
          Comparator.comparingLong((GpuView gpu) -> costStep(gpu, share))
              .thenComparing(Comparator.comparingDouble(GpuView::memoryHeadroom).reversed())
              .thenComparingInt(GpuView::index)),
  /** Most free replicas. */
  SPREAD(
      share ->
          Comparator.comparingDouble(Policy::freeRatio)
              .reversed()
              .thenComparingInt(GpuView::index)),
  /** The smallest hole that is large enough. */
  PACKED(
      share ->
          Comparator.comparingInt((GpuView gpu) -> gpu.freeReplicas() - share)
              .thenComparingInt(GpuView::index));

  /** Costs nearer than this, in GPUs, are the same cost. */
  private static final double COST_STEP = 0.000_1;

  @SuppressWarnings("ImmutableEnumChecker") // Comparators without state.
  private final GpuOrder order;

  Policy(GpuOrder order) {
    this.order = order;
  }

  public GpuOrder order() {
    return order;
  }

  /** Reads a flag's or annotation's value. */
  public static Optional<Policy> parse(@Nullable String name) {
    for (Policy policy : values()) {
      if (policy.toString().equals(name)) {
        return Optional.of(policy);
      }
    }
    return Optional.empty();
  }

  private static long costStep(GpuView gpu, int share) {
    return Math.round(Overload.cost(gpu, share) / COST_STEP);
  }

  static double freeRatio(GpuView gpu) {
    return (double) gpu.freeReplicas() / gpu.replicas();
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
