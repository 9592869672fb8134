package dev.tranche.extender.controller;

import dev.tranche.api.node.NodeEvent;
import dev.tranche.process.client.Events;
import io.fabric8.kubernetes.api.model.ObjectReference;
import java.time.Duration;
import java.util.Set;
import java.util.UUID;

/**
 * Writes on the ConfigMap of the configs what nodes say of theirs, since whoever edits it looks
 * there. What several nodes say within a minute is one event. Confined to the Ledger's loop.
 *
 * @param name of the ConfigMap; empty: there is none
 */
public record ConfigMapEvents(ControllerContext context, String namespace, String name) {
  static final Set<String> REASONS = Set.of("ConfigRefused", "ConfigUsed");

  /** An edit reaches all nodes within about a minute. */
  static final Duration SAME = Duration.ofMinutes(1);

  /** Takes an event of a node that is written on the Node, too. */
  public void add(String node, NodeEvent event) {
    if (name.isEmpty() || !REASONS.contains(event.getReason())) {
      return;
    }
    // Another extender, or this one before a restart, gives it the same name.
    UUID id =
        Events.uuid(
            "config/%s/%s/%d"
                .formatted(
                    event.getReason(), event.getMessage(), event.getAtMs() / SAME.toMillis()));
    if (context.events().claim(node, id)) {
      context
          .api()
          .configMap(namespace, name)
          .onSuccess(found -> found.ifPresent(map -> write(map, node, id, event)))
          .onFailure(failure -> context.events().failed(id, failure));
    }
  }

  private void write(ObjectReference map, String node, UUID id, NodeEvent event) {
    String message = "node %s: %s".formatted(node, event.getMessage());
    context.events().create(id, NodeEventWriter.event(map, node, id, event, message));
  }
}
