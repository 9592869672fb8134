package dev.tranche.webhook.events;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Printable;
import dev.tranche.process.client.Events;
import dev.tranche.process.log.LineLimiter;
import dev.tranche.webhook.guard.FindingOutcome;
import dev.tranche.webhook.guard.GuardedPod;
import dev.tranche.webhook.metrics.WebhookMetrics;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.ObjectReference;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes what the guard finds in pods, and what admission warns of, as Events: at most ten per
 * second. An Event refers to the pod's controller, since the pod does not exist yet at its
 * creation. Events for objects that the API server does not have, or while the queue is full, are
 * dropped and counted. Thread-safe.
 */
public final class AdmissionEvents implements AutoCloseable {
  static final String WARNING_REASON = "GpuRequestWarning";
  private static final String FINDING_REASON = "GpuGuard";

  static final int QUEUED_MAX = 256;
  static final int REMEMBERED_MAX = 4_096;

  private static final int UID_CHARS_MAX = 64;
  private static final String COMPONENT = "tranche-webhook";
  private static final Duration AGAIN_AFTER = Duration.ofMinutes(10);
  private static final long WRITE_INTERVAL_MS = 100;
  private static final long STORAGE_WAIT_MS = 2_000;
  private static final Logger LOG = LoggerFactory.getLogger(AdmissionEvents.class);

  private final KubernetesClient client;
  private final WebhookMetrics metrics;
  private final ObjectLookup objects;
  private final LineLimiter findingLog = new LineLimiter(LOG, "the guard's findings in namespace");
  private final BlockingQueue<Event> queue = new ArrayBlockingQueue<>(QUEUED_MAX);
  private final Thread thread = Thread.ofPlatform().name("events").daemon().unstarted(this::run);

  /**
   * When each was reported, oldest first, by a hash: the texts of others may be long. Guarded by
   * itself.
   */
  private final Map<UUID, Instant> reported =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<UUID, Instant> eldest) {
          return size() > REMEMBERED_MAX;
        }
      };

  public AdmissionEvents(KubernetesClient client, WebhookMetrics metrics) {
    this.client = client;
    this.metrics = metrics;
    this.objects = new ObjectLookup(client);
  }

  public void start() {
    thread.start();
  }

  /**
   * Reports a finding in the log and as an Event, once in ten minutes. A pod without a controller
   * is referred to by name or generateName. Never waits.
   *
   * @param podName for the log
   */
  public void found(String podName, GuardedPod pod, FindingOutcome found) {
    JsonNode metadata = pod.view().pod().path("metadata");
    String name = metadata.path("name").asText(metadata.path("generateName").asText(""));
    ObjectReference regarding =
        controllerOf(pod.namespace(), metadata)
            .orElseGet(() -> Events.pod(pod.namespace(), name, uid(metadata)));
    String what = "%s, %s".formatted(found.finding(), found.outcome());
    UUID key =
        Events.uuid(
            "%s/%s/%s %s"
                .formatted(pod.namespace(), regarding.getKind(), regarding.getName(), what));
    if (!isDue(key)) {
      return;
    }
    if (findingLog.tryAcquire(Printable.name(pod.namespace()))) {
      LOG.info("guard: pod {} {}: {}", podName, found.outcome(), found.description());
    }
    if (objects.supports(regarding)) {
      String message = Printable.message(found.description()) + " (" + what + ")";
      Event event =
          Events.warning(COMPONENT, regarding, UUID.randomUUID(), FINDING_REASON, message);
      event.setMessage(message);
      event.setAction(found.outcome().toString());
      add(event);
    }
  }

  /**
   * Reports warnings, each once in ten minutes for a controller. kubectl shows the warnings about a
   * pod that somebody creates, but a controller drops those about its pods. Where the controller's
   * kind is not one that the webhook may read, it is an Event of the pod, if that has a name
   * already. Never waits.
   *
   * @param pod as it was created
   */
  public void warned(String namespace, JsonNode pod, List<String> warnings) {
    JsonNode metadata = pod.path("metadata");
    controllerOf(namespace, metadata)
        .ifPresent(
            controller ->
                warnings.forEach(warning -> warned(namespace, metadata, controller, warning)));
  }

  private void warned(
      String namespace, JsonNode metadata, ObjectReference controller, String warning) {
    String podName = metadata.path("name").asText("");
    ObjectReference regarding =
        objects.supports(controller) ? controller : Events.pod(namespace, podName, null);
    // The same for the same warning in another replica.
    UUID id = Events.uuid(controller + warning);
    if (objects.supports(regarding) && isDue(id)) {
      add(Events.warning(COMPONENT, regarding, id, WARNING_REASON, warning));
    }
  }

  /** Returns a pod's controller; empty if it has none. */
  private static Optional<ObjectReference> controllerOf(String namespace, JsonNode podMetadata) {
    for (JsonNode owner : podMetadata.path("ownerReferences")) {
      if (owner.path("controller").asBoolean(false)) {
        return Optional.of(
            Events.object(
                owner.path("apiVersion").asText(""),
                owner.path("kind").asText(""),
                namespace,
                owner.path("name").asText(""),
                uid(owner)));
      }
    }
    return Optional.empty();
  }

  /** Anyone who posts a review can name anything, and an Event in the queue keeps it. */
  private static @Nullable String uid(JsonNode object) {
    String uid = object.path("uid").asText("");
    return uid.isEmpty() || uid.length() > UID_CHARS_MAX ? null : uid;
  }

  private boolean isDue(UUID id) {
    Instant now = Instant.now();
    synchronized (reported) {
      Instant last = reported.get(id);
      if (last != null && now.isBefore(last.plus(AGAIN_AFTER))) {
        return false;
      }
      reported.remove(id);
      reported.put(id, now);
      return true;
    }
  }

  private void add(Event event) {
    if (!queue.offer(event)) {
      dropped(event);
    }
  }

  /** The controller's next pod reports a warning again. */
  private void dropped(Event event) {
    if (!event.getReason().equals(WARNING_REASON)) {
      metrics.guardEventsDropped.increment();
      return;
    }
    metrics.ownerWarningsDropped.increment();
    String name = event.getMetadata().getName();
    synchronized (reported) {
      reported.remove(UUID.fromString(name.substring(name.lastIndexOf('.') + 1)));
    }
  }

  private void run() {
    try {
      while (!Thread.currentThread().isInterrupted()) {
        Event event = queue.take();
        // A pod is stored after its admission, mostly at once, and one that is denied never is.
        // Its controller exists before it.
        Thread.sleep(WRITE_INTERVAL_MS);
        if (!event.getInvolvedObject().getKind().equals("Pod")) {
          write(event);
        } else if (!tryWrite(event)) {
          Duration age = Duration.between(Instant.parse(event.getFirstTimestamp()), Instant.now());
          Thread.sleep(
              Math.clamp(STORAGE_WAIT_MS - age.toMillis(), WRITE_INTERVAL_MS, STORAGE_WAIT_MS));
          write(event);
        }
      }
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  void write(Event event) {
    if (!tryWrite(event)) {
      dropped(event);
    }
  }

  /** Writes an Event if its object exists, since anyone who posts a review can name any object. */
  private boolean tryWrite(Event event) {
    try {
      if (!objects.exists(event.getInvolvedObject())) {
        return false;
      }
      client.v1().events().inNamespace(event.getMetadata().getNamespace()).resource(event).create();
      return true;
    } catch (RuntimeException failed) {
      LOG.debug("an Event was not written: {}", failed.toString());
      // Another replica, or this one before it started again, has written the same.
      return Events.exists(failed);
    }
  }

  int queued() {
    return queue.size();
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
