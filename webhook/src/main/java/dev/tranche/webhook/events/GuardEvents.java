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
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports the guard's findings in the log and as Events. An Event refers to the pod's controller,
 * since the pod does not exist yet at its creation. A pod without a controller is referred to by
 * name. Each finding is reported once in ten minutes, and at most ten Events are written per
 * second. Events for objects that the API server does not have, or while the queue is full, are
 * dropped and counted. Findings on objects that {@link ObjectLookup} does not support are only
 * logged.
 */
public final class GuardEvents implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(GuardEvents.class);
  private static final String COMPONENT = "tranche-webhook";
  private static final int QUEUED_MAX = 256;
  private static final int REMEMBERED_MAX = 2_048;
  private static final long WRITE_INTERVAL_MS = 100;
  private static final long STORAGE_WAIT_MS = 2_000;
  private static final Duration REPORT_INTERVAL = Duration.ofMinutes(10);

  private final KubernetesClient client;
  private final InstantSource clock;
  private final WebhookMetrics metrics;
  private final ObjectLookup objects;
  private final LineLimiter findingLog = new LineLimiter(LOG, "the guard's findings in namespace");
  private final BlockingQueue<Event> queue = new ArrayBlockingQueue<>(QUEUED_MAX);
  private final Thread thread;

  /** When each finding was last reported, oldest first. Confined to the event loop. */
  private final Map<Key, Instant> lastReported =
      new LinkedHashMap<>() {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Key, Instant> eldest) {
          return size() > REMEMBERED_MAX;
        }
      };

  private record Key(String namespace, String kind, String name, String finding) {}

  public GuardEvents(KubernetesClient client, InstantSource clock, WebhookMetrics metrics) {
    this.client = client;
    objects = new ObjectLookup(client, clock);
    this.clock = clock;
    this.metrics = metrics;
    thread = Thread.ofPlatform().name("guard-events").daemon().unstarted(this::run);
  }

  public void start() {
    thread.start();
  }

  /**
   * On the event loop; never waits.
   *
   * @param podName for the log
   */
  public void report(String podName, GuardedPod pod, FindingOutcome found) {
    ObjectReference regarding = regarding(pod);
    Instant now = clock.instant();
    var key =
        new Key(
            pod.namespace(),
            regarding.getKind(),
            regarding.getName(),
            found.finding() + "=" + found.outcome());
    Instant last = lastReported.get(key);
    if (last != null && now.isBefore(last.plus(REPORT_INTERVAL))) {
      return;
    }
    lastReported.remove(key);
    lastReported.put(key, now);
    if (findingLog.tryAcquire(Printable.name(pod.namespace()))) {
      LOG.info("guard: pod {} {}: {}", podName, found.outcome(), found.description());
    }
    if (!objects.supports(regarding)) {
      return;
    }
    if (!queue.offer(event(regarding, found, now))) {
      metrics.guardEventDropped();
    }
  }

  /** Returns the pod's controller, or else the pod itself, by its name or generateName. */
  private static ObjectReference regarding(GuardedPod pod) {
    JsonNode metadata = pod.view().pod().path("metadata");
    for (JsonNode owner : metadata.path("ownerReferences")) {
      if (owner.path("controller").asBoolean(false)) {
        return Events.object(
            owner.path("apiVersion").asText(""),
            owner.path("kind").asText(""),
            pod.namespace(),
            owner.path("name").asText(""),
            owner.path("uid").asText(null));
      }
    }
    String name = metadata.path("name").asText(metadata.path("generateName").asText(""));
    return Events.object("v1", "Pod", pod.namespace(), name, metadata.path("uid").asText(null));
  }

  private static Event event(ObjectReference regarding, FindingOutcome found, Instant now) {
    return Events.eventBuilder(regarding, UUID.randomUUID(), now)
        .withType("Warning")
        .withReason("GpuGuard")
        .withAction(found.outcome().toString())
        .withMessage(
            Printable.message(found.description())
                + " (%s, %s)".formatted(found.finding(), found.outcome()))
        .withNewSource()
        .withComponent(COMPONENT)
        .endSource()
        .withReportingComponent(COMPONENT)
        .withReportingInstance(COMPONENT)
        .build();
  }

  private void run() {
    try {
      while (!Thread.currentThread().isInterrupted()) {
        Event event = queue.take();
        // A pod is stored after its admission, mostly at once, and one that is denied never is.
        Thread.sleep(WRITE_INTERVAL_MS);
        if (!tryWrite(event)) {
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
      metrics.guardEventDropped();
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
    } catch (RuntimeException refused) {
      LOG.debug("an Event was not written: {}", refused.toString());
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
