package dev.tranche.extender.controller;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.tranche.api.node.NodeEvent;
import dev.tranche.extender.limit.NodeRate;
import dev.tranche.process.client.Events;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.ObjectReference;
import io.vertx.core.Future;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes on the ConfigMap of the configs what nodes say of theirs, since whoever edits it looks
 * there. What several nodes say within a minute is one event. Confined to the Ledger's loop.
 */
public final class ConfigMapEvents {
  static final Set<String> REASONS = Set.of("ConfigRefused", "ConfigUsed");

  /** An edit reaches all nodes within about a minute. */
  static final Duration SAME = Duration.ofMinutes(1);

  /** Nodes of different GPUs say different things of one config. */
  public static final NodeRate.Limits RATE = new NodeRate.Limits(8, 60_000, 16, 1);

  private static final int WRITTEN_MAX = 1_000;
  private static final Logger LOG = LoggerFactory.getLogger(ConfigMapEvents.class);

  private final Supplier<Future<Optional<ObjectReference>>> configMap;
  private final Function<Event, Future<?>> writer;
  private final NodeRate rate;
  private final Cache<UUID, Boolean> written =
      Caffeine.newBuilder().maximumSize(WRITTEN_MAX).expireAfterWrite(SAME.multipliedBy(2)).build();

  /**
   * @param configMap reads it; empty: there is none
   * @param rate of events by node
   */
  public ConfigMapEvents(
      Supplier<Future<Optional<ObjectReference>>> configMap,
      Function<Event, Future<?>> writer,
      NodeRate rate) {
    this.configMap = configMap;
    this.writer = writer;
    this.rate = rate;
  }

  /** Takes an event of a node that is written on the Node, too. */
  public void add(String node, NodeEvent event) {
    if (!REASONS.contains(event.getReason())) {
      return;
    }
    // Another extender, or this one before a restart, gives it the same name.
    UUID id =
        Events.uuid(
            "config/%s/%s/%d"
                .formatted(
                    event.getReason(), event.getMessage(), event.getAtMs() / SAME.toMillis()));
    if (written.getIfPresent(id) == null && rate.tryAcquire(node)) {
      written.put(id, true);
      configMap
          .get()
          .onSuccess(found -> found.ifPresent(map -> write(map, node, id, event)))
          .onFailure(ConfigMapEvents::unwritten);
    }
  }

  private void write(ObjectReference map, String node, UUID id, NodeEvent event) {
    String message = "node %s: %s".formatted(node, event.getMessage());
    writer
        .apply(NodeEventWriter.event(map, node, id, event, message))
        .onFailure(ConfigMapEvents::unwritten);
  }

  private static void unwritten(Throwable failure) {
    if (!Events.exists(failure)) {
      LOG.info("cannot write an event of the configs' ConfigMap: {}", failure.toString());
    }
  }
}
