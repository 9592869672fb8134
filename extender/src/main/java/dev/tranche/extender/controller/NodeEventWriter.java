package dev.tranche.extender.controller;

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
import java.util.Optional;
import java.util.UUID;

/**
 * Writes the events that nodes report, about the Node or its pods. A node's next whole report
 * repeats what is not written yet. Confined to the Ledger's loop.
 *
 * @param configMap of the nodes' configs; is told of each event about a Node
 */
public record NodeEventWriter(ControllerContext context, ConfigMapEvents configMap)
    implements Controller {
  /** Shorter than the API server keeps an event, so that none is written twice. */
  static final Duration AGE_MAX = Duration.ofMinutes(30);

  /** A node may be compromised, so its texts are cut here. */
  static final int MESSAGE_CHARS_MAX = 1_000;

  static final int REASON_CHARS_MAX = 64;

  @Override
  public void reported(String node, NodeReport report) {
    for (NodeEvent event : report.getEventsList()) {
      // Both times are from the node's clock, so it doesn't matter if it is wrong.
      boolean recent = report.getSentAtMs() - event.getAtMs() < AGE_MAX.toMillis();
      UUID id = Events.uuid(node + "/" + report.getPluginInstance() + "/" + event.getId());
      if (recent) {
        // The informer may lag behind the node, so that a pod is not known yet.
        object(node, event).ifPresent(object -> write(object, node, id, event));
      }
    }
  }

  private Optional<ObjectReference> object(String node, NodeEvent event) {
    String namespace = event.getNamespace();
    return event.getPod().isEmpty()
        ? Optional.of(Events.node(node))
        : uid(node, namespace + "/" + event.getPod())
            .map(uid -> Events.pod(namespace, event.getPod(), uid));
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
    if (context.events().claim(node, id)) {
      context.events().create(id, event(object, node, id, event, event.getMessage()));
      if (event.getPod().isEmpty()) {
        configMap.add(node, event);
      }
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
