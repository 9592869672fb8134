package dev.tranche.extender.readapi;

import dev.tranche.extender.explain.Inspection;
import io.vertx.core.Future;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Caches the newest snapshot of the extender's state for all readers. A snapshot costs time on the
 * loop that decides. So only one is taken at a time, and about one a second at most.
 */
public final class InspectionCache {
  /**
   * Below 1 s: a reader that asks each second by an inexact timer would otherwise get some
   * snapshots twice.
   */
  static final long AGE_MS_MAX = 900;

  private final Supplier<Future<Inspection>> taken;
  private final LongSupplier clockMs;
  private @Nullable Future<Inspection> latest;
  private long atMs;

  /**
   * @param taken takes a snapshot on the loop
   */
  public InspectionCache(Supplier<Future<Inspection>> taken, LongSupplier clockMs) {
    this.taken = taken;
    this.clockMs = clockMs;
  }

  public synchronized Future<Inspection> latest() {
    long nowMs = clockMs.getAsLong();
    Future<Inspection> known = latest;
    if (known == null || (known.isComplete() && nowMs - atMs >= AGE_MS_MAX)) {
      known = taken.get();
      latest = known;
      atMs = nowMs;
    }
    return known;
  }
}
