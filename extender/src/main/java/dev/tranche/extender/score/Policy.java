package dev.tranche.extender.score;

import dev.tranche.extender.placement.GpuOrder;
import dev.tranche.extender.placement.GpuView;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.Locale;
import java.util.Optional;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/** How GPUs compare: each policy is one line of a table. */
public enum Policy {
  /** Least effective SM load, then most free memory, then most free replicas. */
  LOAD(
      share ->
          Comparator.comparingLong(Policy::loadStep)
              .thenComparing(Comparator.comparingDouble(GpuView::memoryHeadroom).reversed())
              .thenComparing(Comparator.comparingDouble(Policy::freeRatio).reversed())
              .thenComparingInt(GpuView::index)),
  /** {@link #LOAD} while idle GPUs are scarce: the least {@link OverloadCost} to be expected. */
  SPARING(
      share ->
          Comparator.comparingLong(costSteps(share))
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

  /** Loads nearer than this are the same load, so that memory decides rather than noise. */
  private static final double LOAD_STEP = 0.05;

  /** An unmeasured GPU is taken for half loaded: neither attractive nor shunned. */
  private static final double UNMEASURED_LOAD = 0.5;

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
      if (policy != SPARING && policy.toString().equals(name)) {
        return Optional.of(policy);
      }
    }
    return Optional.empty();
  }

  private static long loadStep(GpuView gpu) {
    return Math.round((gpu.measured() ? gpu.smLoad() : UNMEASURED_LOAD) / LOAD_STEP);
  }

  /** Of one sort: a GPU is compared more than once, and its cost is dear. */
  private static ToLongFunction<GpuView> costSteps(int share) {
    var known = new IdentityHashMap<GpuView, Long>();
    return gpu -> known.computeIfAbsent(gpu, g -> costStep(g, share));
  }

  private static long costStep(GpuView gpu, int share) {
    return Math.round(OverloadCost.cost(gpu, share) / COST_STEP);
  }

  static double freeRatio(GpuView gpu) {
    return (double) gpu.freeReplicas() / gpu.replicas();
  }

  @Override
  public String toString() {
    return this == SPARING
        ? "load (idle GPUs are scarce and spared)"
        : name().toLowerCase(Locale.ROOT);
  }
}
