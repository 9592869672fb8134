package dev.tranche.extender.score;

import dev.tranche.extender.placement.GpuOrder;
import dev.tranche.extender.placement.GpuView;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.Locale;
import java.util.Optional;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/** The policies by which GPUs are compared; each is one line of a table of comparators. */
public enum Policy {
  /** Least effective SM load, then most free memory, then most free replicas. */
  LOAD(
      share ->
          Comparator.comparingLong(Policy::loadStep)
              .thenComparing(Comparator.comparingDouble(GpuView::memoryHeadroom).reversed())
              .thenComparing(Comparator.comparingDouble(GpuView::freeRatio).reversed())
              .thenComparingInt(GpuView::index)),
  /** {@link #LOAD} while idle GPUs are scarce: the least expected {@link OverloadCost}. */
  LOAD_SPARING_IDLE(
      share ->
          Comparator.comparingLong(costSteps(share))
              .thenComparing(Comparator.comparingDouble(GpuView::memoryHeadroom).reversed())
              .thenComparingInt(GpuView::index)),
  /** Most free replicas. */
  SPREAD(
      share ->
          Comparator.comparingDouble(GpuView::freeRatio)
              .reversed()
              .thenComparingInt(GpuView::index)),
  /** Fewest free replicas left over. */
  PACKED(
      share ->
          Comparator.comparingInt((GpuView gpu) -> gpu.freeReplicas() - share)
              .thenComparingInt(GpuView::index));

  /**
   * Loads that differ by less than this count as equal, so that memory decides rather than noise.
   */
  private static final double LOAD_STEP = 0.05;

  /** An unmeasured GPU counts as half loaded, so that it is neither preferred nor avoided. */
  static final double UNMEASURED_LOAD = 0.5;

  /** Costs that differ by less than this, in GPUs, count as equal. */
  private static final double COST_STEP = 0.000_1;

  @SuppressWarnings("ImmutableEnumChecker") // Comparators without state.
  public final GpuOrder order;

  Policy(GpuOrder order) {
    this.order = order;
  }

  /** Parses the value of a flag or an annotation. */
  public static Optional<Policy> parse(@Nullable String name) {
    for (Policy policy : values()) {
      if (policy != LOAD_SPARING_IDLE && policy.toString().equals(name)) {
        return Optional.of(policy);
      }
    }
    return Optional.empty();
  }

  private static long loadStep(GpuView gpu) {
    return Math.round((gpu.measured() ? gpu.smLoad() : UNMEASURED_LOAD) / LOAD_STEP);
  }

  /** Caches costs for one sort: it compares a GPU more than once, and a cost is expensive. */
  private static ToLongFunction<GpuView> costSteps(int share) {
    var known = new IdentityHashMap<GpuView, Long>();
    return gpu ->
        known.computeIfAbsent(gpu, g -> Math.round(OverloadCost.cost(g, share) / COST_STEP));
  }

  @Override
  public String toString() {
    return this == LOAD_SPARING_IDLE
        ? "load (idle GPUs are scarce and spared)"
        : name().toLowerCase(Locale.ROOT);
  }
}
