package dev.tranche.webhook.events;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.process.client.Events;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.ObjectReference;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes Events about objects that the API server has, at most ten per second. Events about others,
 * or while the queue is full, are dropped.
 */
final class ObjectEvents implements AutoCloseable {
  static final int QUEUED_MAX = 256;

  /** So that no namespace keeps out the events of another one. */
  static final int QUEUED_OF_NAMESPACE_MAX = 64;

  private static final Logger LOG = LoggerFactory.getLogger(ObjectEvents.class);
  private static final long WRITE_INTERVAL_MS = 100;
  private static final long STORAGE_WAIT_MS = 2_000;
  private static final int CONFLICT = 409;

  private final KubernetesClient client;
  private final InstantSource clock;
  private final Consumer<Event> onDropped;
  private final ObjectLookup objects;
  private final BlockingQueue<Event> queue = new ArrayBlockingQueue<>(QUEUED_MAX);
  private final Map<String, Integer> queuedByNamespace = new ConcurrentHashMap<>();
  private final Thread thread;

  /**
   * @param thread the name of the thread that writes
   * @param onDropped called for each event that is not written
   */
  ObjectEvents(
      KubernetesClient client, InstantSource clock, String thread, Consumer<Event> onDropped) {
    this.client = client;
    this.clock = clock;
    this.onDropped = onDropped;
    this.objects = new ObjectLookup(client, clock);
    this.thread = Thread.ofPlatform().name(thread).daemon().unstarted(this::run);
  }

  void start() {
    thread.start();
  }

  /** Returns the controller of the object with this metadata. */
  static Optional<ObjectReference> controllerOf(String namespace, JsonNode metadata) {
    for (JsonNode owner : metadata.path("ownerReferences")) {
      if (owner.path("controller").asBoolean(false)) {
        return Optional.of(
            Events.object(
                owner.path("apiVersion").asText(""),
                owner.path("kind").asText(""),
                namespace,
                owner.path("name").asText(""),
                owner.path("uid").asText(null)));
      }
    }
    return Optional.empty();
  }

  /** Whether it can be found out that the object exists. */
  boolean supports(ObjectReference object) {
    return objects.supports(object);
  }

  /** Never waits. */
  void add(Event event) {
    String namespace = event.getMetadata().getNamespace();
    if (queuedByNamespace.merge(namespace, 1, Integer::sum) > QUEUED_OF_NAMESPACE_MAX
        || !queue.offer(event)) {
      taken(namespace);
      onDropped.accept(event);
    }
  }

  private void taken(String namespace) {
    queuedByNamespace.computeIfPresent(namespace, (of, count) -> count == 1 ? null : count - 1);
  }

  private void run() {
    try {
      while (!Thread.currentThread().isInterrupted()) {
        Event event = queue.take();
        taken(event.getMetadata().getNamespace());
        // A pod is stored after its admission, mostly at once, and one that is denied never is.
        // Its controller exists before it.
        Thread.sleep(WRITE_INTERVAL_MS);
        if (!event.getInvolvedObject().getKind().equals("Pod")) {
          write(event);
        } else if (!tryWrite(event)) {
          long ageMs = clock.millis() - Instant.parse(event.getFirstTimestamp()).toEpochMilli();
          Thread.sleep(Math.clamp(STORAGE_WAIT_MS - ageMs, WRITE_INTERVAL_MS, STORAGE_WAIT_MS));
          write(event);
        }
      }
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  void write(Event event) {
    if (!tryWrite(event)) {
      onDropped.accept(event);
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
    } catch (KubernetesClientException refused) {
      LOG.debug("an Event was not written: {}", refused.toString());
      // Another replica, or this one before it started again, has written the same.
      return refused.getCode() == CONFLICT;
    } catch (RuntimeException failed) {
      LOG.debug("an Event was not written: {}", failed.toString());
      return false;
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
