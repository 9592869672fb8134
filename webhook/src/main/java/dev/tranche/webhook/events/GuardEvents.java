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
  private static final int REMEMBERED_MAX = 2_048;
  private static final Duration REPORT_INTERVAL = Duration.ofMinutes(10);

  private final InstantSource clock;
  private final ObjectEvents events;
  private final LineLimiter findingLog = new LineLimiter(LOG, "the guard's findings in namespace");

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
    this.clock = clock;
    events =
        new ObjectEvents(
            client, clock, "guard-events", dropped -> metrics.guardEventsDropped.increment());
  }

  public void start() {
    events.start();
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
    if (events.supports(regarding)) {
      events.add(event(regarding, found, now));
    }
  }

  /** Returns the pod's controller, or else the pod itself, by its name or generateName. */
  private static ObjectReference regarding(GuardedPod pod) {
    JsonNode metadata = pod.view().pod().path("metadata");
    return ObjectEvents.controllerOf(pod.namespace(), metadata)
        .orElseGet(
            () ->
                Events.object(
                    "v1",
                    "Pod",
                    pod.namespace(),
                    metadata.path("name").asText(metadata.path("generateName").asText("")),
                    metadata.path("uid").asText(null)));
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

  void write(Event event) {
    events.write(event);
  }

  int queued() {
    return events.queued();
  }

  @Override
  public void close() {
    events.close();
  }
}
