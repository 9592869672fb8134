package dev.tranche.webhook.events;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Printable;
import dev.tranche.process.client.Events;
import dev.tranche.webhook.metrics.WebhookMetrics;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.ObjectReference;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Tells the owner of a pod what admission warns of. kubectl shows the warnings about a pod that
 * somebody creates, but a controller drops those about its pods. So each becomes an Event of the
 * controller, once for a controller and a sentence. Where the controller's kind is not one that the
 * webhook may read, it is an Event of the pod, if that has a name already. Thread-safe.
 */
public final class OwnerWarnings implements AutoCloseable {
  static final String REASON = "GpuRequestWarning";
  static final int REMEMBERED_MAX = 4_096;

  private static final String COMPONENT = "tranche-webhook";

  private final InstantSource clock;
  private final ObjectEvents events;

  /**
   * The warnings that were reported, oldest first, each as a hash with its controller: the texts of
   * others may be long. Guarded by itself.
   */
  private final Map<String, Boolean> reported =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
          return size() > REMEMBERED_MAX;
        }
      };

  public OwnerWarnings(KubernetesClient client, InstantSource clock, WebhookMetrics metrics) {
    this.clock = clock;
    this.events =
        new ObjectEvents(
            client,
            clock,
            "owner-warnings",
            dropped -> {
              metrics.ownerWarningsDropped.increment();
              forget(dropped);
            });
  }

  public void start() {
    events.start();
  }

  /**
   * Reports warnings; never waits. Whoever creates a pod without a controller sees them.
   *
   * @param pod as it was created
   */
  public void report(String namespace, JsonNode pod, List<String> warnings) {
    if (warnings.isEmpty()) {
      return;
    }
    JsonNode metadata = pod.path("metadata");
    ObjectEvents.controllerOf(namespace, metadata)
        .ifPresent(
            controller ->
                warnings.forEach(warning -> report(namespace, metadata, controller, warning)));
  }

  private void report(
      String namespace, JsonNode metadata, ObjectReference controller, String warning) {
    String podName = metadata.path("name").asText("");
    ObjectReference regarding =
        events.supports(controller)
            ? controller
            : Events.object("v1", "Pod", namespace, podName, null);
    UUID id = Events.uuid(controller + warning);
    if (events.supports(regarding) && isNew(id.toString())) {
      events.add(event(regarding, id, warning));
    }
  }

  private boolean isNew(String id) {
    synchronized (reported) {
      return reported.put(id, true) == null;
    }
  }

  /** The controller's next pod reports it again. */
  private void forget(Event dropped) {
    String name = dropped.getMetadata().getName();
    synchronized (reported) {
      reported.remove(name.substring(name.lastIndexOf('.') + 1));
    }
  }

  /**
   * @param id the same for the same warning in another replica
   */
  private Event event(ObjectReference regarding, UUID id, String warning) {
    return Events.eventBuilder(regarding, id, clock.instant())
        .withType("Warning")
        .withReason(REASON)
        .withMessage(Printable.message(warning))
        .withNewSource()
        .withComponent(COMPONENT)
        .endSource()
        .build();
  }

  int queued() {
    return events.queued();
  }

  @Override
  public void close() {
    events.close();
  }
}
