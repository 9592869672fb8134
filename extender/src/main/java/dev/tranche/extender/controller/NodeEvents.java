package dev.tranche.extender.controller;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.tranche.extender.client.NodeRate;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.process.client.Events;
import io.fabric8.kubernetes.api.model.Event;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;

/**
 * Creates the events that nodes cause while this extender may write, each once and at its node's
 * rate. Another extender, or this one before a restart, gives an event the same name, so the API
 * server refuses the second one. Confined to the loop.
 */
final class NodeEvents {
  /** A node that keeps its events sends 64 at once. */
  private static final NodeRate.Limits RATE = new NodeRate.Limits(64, 10_000, 256, 20);

  private static final int CLAIMED_MAX = 50_000;

  /** The API server keeps an event for an hour and up to a minute, and refuses it until then. */
  private static final Duration CLAIMED_FOR = Duration.ofMinutes(65);

  private final ApiWrites api;
  private final BooleanSupplier mayWrite;
  private final NodeRate rate;
  private final Cache<UUID, Boolean> claimed;

  NodeEvents(
      ApiWrites api, BooleanSupplier mayWrite, LongSupplier clockMs, ExtenderMetrics metrics) {
    this.api = api;
    this.mayWrite = mayWrite;
    this.rate = new NodeRate("events", RATE, clockMs, metrics);
    this.claimed =
        Caffeine.newBuilder()
            .maximumSize(CLAIMED_MAX)
            .expireAfterWrite(CLAIMED_FOR)
            .ticker(() -> TimeUnit.MILLISECONDS.toNanos(clockMs.getAsLong()))
            .build();
  }

  /** Returns whether the node may cause another event now. */
  boolean tryAcquire(String node) {
    return mayWrite.getAsBoolean() && rate.tryAcquire(node);
  }

  /** Returns whether the event is to be created now: it is new, and the node may cause another. */
  boolean claim(String node, UUID id) {
    boolean isNew = claimed.getIfPresent(id) == null && tryAcquire(node);
    if (isNew) {
      claimed.put(id, true);
    }
    return isNew;
  }

  /** Creates an event that was claimed. If it fails and may succeed later, it is new again. */
  void create(UUID id, Event event) {
    api.event(event).onFailure(failure -> failed(id, failure));
  }

  void failed(UUID id, Throwable failure) {
    if (Events.isPassing(failure)) {
      claimed.invalidate(id);
    }
  }
}
