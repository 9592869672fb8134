package dev.tranche.e2e.bench.attack;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/** The largest memory of each part while an attack lasts. */
final class Peak implements AutoCloseable {
  private static final Duration BETWEEN = Duration.ofSeconds(1);

  private final Parts parts;
  private final Thread watch;
  private final Map<String, Long> memoryMib = new HashMap<>();
  private final Map<String, Double> heapMib = new HashMap<>();
  private volatile boolean ended;

  Peak(Parts parts) {
    this.parts = parts;
    this.watch = Thread.startVirtualThread(this::watch);
  }

  private void watch() {
    while (!ended) {
      try {
        var memory = parts.memoryMib();
        var heap = parts.heapMib();
        synchronized (this) {
          memory.forEach((part, mib) -> memoryMib.merge(part, mib, Math::max));
          heap.forEach((part, mib) -> heapMib.merge(part, mib, Math::max));
        }
        Thread.sleep(BETWEEN);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      } catch (RuntimeException busy) {
        // The API server does not answer at the moment.
      }
    }
  }

  synchronized Map<String, Long> memory() {
    return Map.copyOf(memoryMib);
  }

  synchronized Map<String, Double> heap() {
    return Map.copyOf(heapMib);
  }

  @Override
  public void close() throws InterruptedException {
    ended = true;
    watch.join(Duration.ofSeconds(30));
  }
}
