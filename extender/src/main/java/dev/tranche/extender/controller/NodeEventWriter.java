package dev.tranche.extender.controller;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.tranche.api.Printable;
import dev.tranche.api.node.NodeEvent;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.process.client.Events;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.ObjectReference;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes the events that nodes report, about the Node or its pods. Another extender, or this one
 * before a restart, gives an event the same name. The API server then refuses the second one.
 * Confined to the Ledger's loop.
 */
public final class NodeEventWriter implements Controller {
  /** Shorter than the API server keeps an event, so that none is written twice. */
  static final Duration AGE_MAX = Duration.ofMinutes(30);

  /**
   * The limits of what a node ever sends at once. They are enforced here, since a node may be
   * compromised.
   */
  static final int EVENTS_MAX = 64;

  static final int MESSAGE_CHARS_MAX = 1_000;
  static final int REASON_CHARS_MAX = 64;

  private static final int WRITTEN_MAX = 50_000;
  private static final Logger LOG = LoggerFactory.getLogger(NodeEventWriter.class);

  private final ControllerContext context;
  private final ConfigMapEvents configMap;
  private final Cache<UUID, Boolean> written =
      Caffeine.newBuilder()
          .maximumSize(WRITTEN_MAX)
          .expireAfterWrite(AGE_MAX.plus(AGE_MAX))
          .build();

  /**
   * @param configMap of the nodes' configs; is told of each event about a Node
   */
  public NodeEventWriter(ControllerContext context, ConfigMapEvents configMap) {
    this.context = context;
    this.configMap = configMap;
  }

  @Override
  public void reported(String node, NodeReport report) {
    if (report.getEventsCount() == 0 || !context.deciding()) {
      return;
    }
    List<NodeEvent> events = report.getEventsList();
    // The newest come last.
    for (NodeEvent event : events.subList(Math.max(0, events.size() - EVENTS_MAX), events.size())) {
      // Both times are from the node's clock, so it doesn't matter if it is wrong.
      boolean recent = report.getSentAtMs() - event.getAtMs() < AGE_MAX.toMillis();
      UUID id = Events.uuid(node + "/" + report.getPluginInstance() + "/" + event.getId());
      if (recent && written.asMap().putIfAbsent(id, true) == null) {
        write(node, id, event);
      }
    }
  }

  private void write(String node, UUID id, NodeEvent event) {
    String namespace = event.getNamespace();
    Optional<ObjectReference> object =
        event.getPod().isEmpty()
            ? Optional.of(Events.node(node))
            : uid(node, namespace + "/" + event.getPod())
                .map(uid -> Events.pod(namespace, event.getPod(), uid));
    object.ifPresentOrElse(
        o -> write(o, node, id, event),
        // The informer may lag behind the node; the next whole report repeats the event.
        () -> written.invalidate(id));
  }

  /** Restricts a node's events to its own pods, whatever it reports. */
  private Optional<String> uid(String node, String key) {
    Ledger ledger = context.core().ledger;
    return ledger.holds(node).stream()
        .filter(hold -> hold.key().equals(key))
        .flatMap(hold -> ledger.pod(hold.uid()).stream())
        .filter(pod -> node.equals(pod.node()))
        .map(PodFacts::uid)
        .findFirst();
  }

  private void write(ObjectReference object, String node, UUID id, NodeEvent event) {
    if (context.eventRate().tryAcquire(node)) {
      context
          .api()
          .event(event(object, node, id, event, event.getMessage()))
          .onFailure(failure -> unwritten(node, id, failure));
      if (event.getPod().isEmpty()) {
        configMap.add(node, event);
      }
    } else {
      // The node's next whole report repeats it, as long as the node keeps it.
      written.invalidate(id);
    }
  }

  /**
   * Retries if the failure may pass. A conflict means that the event exists already, and what is
   * refused once is refused again.
   */
  private void unwritten(String node, UUID id, Throwable failure) {
    if (Events.isPassing(failure)) {
      LOG.info(
          "cannot write an event of node {} until its next full report: {}",
          node,
          failure.toString());
      written.invalidate(id);
    }
  }

  /** Builds an event about an object, from what a node says. */
  static Event event(
      ObjectReference object, String node, UUID id, NodeEvent event, String message) {
    return Events.eventBuilder(object, id, Instant.ofEpochMilli(event.getAtMs()))
        .withType(event.getWarning() ? "Warning" : "Normal")
        .withReason(cut(event.getReason()))
        .withMessage(Printable.of(message, MESSAGE_CHARS_MAX - 1))
        .withNewSource()
        .withComponent("tranche-node-plugin")
        .withHost(node)
        .endSource()
        .build();
  }

  private static String cut(String reason) {
    return reason.substring(0, Math.min(reason.length(), REASON_CHARS_MAX));
  }
}
