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

  /** The warnings that were reported, by controller, oldest first. Guarded by itself. */
  private final Map<Key, Boolean> reported =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Key, Boolean> eldest) {
          return size() > REMEMBERED_MAX;
        }
      };

  private record Key(String namespace, String kind, String name, String uid, String warning) {}

  public OwnerWarnings(KubernetesClient client, InstantSource clock, WebhookMetrics metrics) {
    this.clock = clock;
    this.events = new ObjectEvents(client, clock, "owner-warnings", metrics::ownerWarningDropped);
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
    for (JsonNode owner : metadata.path("ownerReferences")) {
      if (owner.path("controller").asBoolean(false)) {
        warnings.forEach(warning -> report(namespace, metadata, owner, warning));
        return;
      }
    }
  }

  private void report(String namespace, JsonNode metadata, JsonNode owner, String warning) {
    var key =
        new Key(
            namespace,
            owner.path("kind").asText(""),
            owner.path("name").asText(""),
            owner.path("uid").asText(""),
            warning);
    ObjectReference controller =
        Events.object(
            owner.path("apiVersion").asText(""), key.kind(), namespace, key.name(), key.uid());
    String podName = metadata.path("name").asText("");
    ObjectReference regarding =
        events.supports(controller)
            ? controller
            : Events.object("v1", "Pod", namespace, podName, null);
    if (events.supports(regarding) && isNew(key)) {
      events.add(event(regarding, key));
    }
  }

  private boolean isNew(Key key) {
    synchronized (reported) {
      return reported.put(key, true) == null;
    }
  }

  /** Its name is that of the same warning in another replica. */
  private Event event(ObjectReference regarding, Key key) {
    return Events.eventBuilder(regarding, Events.uuid(key.toString()), clock.instant())
        .withType("Warning")
        .withReason(REASON)
        .withMessage(Printable.message(key.warning()))
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
