package dev.tranche.webhook.events;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Printable;
import dev.tranche.webhook.guard.FindingOutcome;
import dev.tranche.webhook.guard.GuardedPod;
import dev.tranche.webhook.metrics.WebhookMetrics;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.EventBuilder;
import io.fabric8.kubernetes.api.model.ObjectReference;
import io.fabric8.kubernetes.api.model.ObjectReferenceBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports what the guard found, in the log and as an Event. The Event is on the pod's controller,
 * since a pod at its creation is no object yet. A pod without a controller gets it by name. Each
 * finding is reported once in ten minutes, at ten Events a second at most, and only for objects
 * that the API server has. Others, and those that find the queue full, are dropped and counted.
 */
public final class GuardEvents implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(GuardEvents.class);
  private static final int QUEUED_MAX = 256;
  private static final int REMEMBERED_MAX = 2_048;
  private static final long BETWEEN_MS = 100;
  private static final long STORED_MS = 2_000;
  private static final Duration QUIET = Duration.ofMinutes(10);

  private final KubernetesClient client;
  private final InstantSource clock;
  private final WebhookMetrics metrics;
  private final ObjectLookup objects;
  private final BlockingQueue<Event> queue = new ArrayBlockingQueue<>(QUEUED_MAX);
  private final Thread thread;

  /** When each was told last, oldest first; of the event loop alone. */
  private final Map<Key, Instant> told =
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
   * @param who for the log
   */
  public void tell(String who, GuardedPod pod, FindingOutcome found) {
    ObjectReference regarding = regarding(pod);
    Instant now = clock.instant();
    var key =
        new Key(
            pod.namespace(),
            regarding.getKind(),
            regarding.getName(),
            found.finding() + "=" + found.outcome());
    Instant last = told.get(key);
    if (last != null && now.isBefore(last.plus(QUIET))) {
      return;
    }
    told.remove(key);
    told.put(key, now);
    LOG.info("guard: pod {} {}: {}", who, found.outcome(), found.what());
    if (!objects.known(regarding)) {
      return;
    }
    if (!queue.offer(event(pod.namespace(), regarding, found, now))) {
      metrics.guardEventDropped();
    }
  }

  /** The controller; else the pod itself, by the name that it will have or begin with. */
  private static ObjectReference regarding(GuardedPod pod) {
    JsonNode metadata = pod.view().pod().path("metadata");
    for (JsonNode owner : metadata.path("ownerReferences")) {
      if (owner.path("controller").asBoolean(false)) {
        return reference(
            pod,
            owner.path("apiVersion").asText(""),
            owner.path("kind").asText(""),
            owner.path("name").asText(""),
            owner.path("uid").asText(""));
      }
    }
    String name = metadata.path("name").asText(metadata.path("generateName").asText(""));
    return reference(pod, "v1", "Pod", name, metadata.path("uid").asText(""));
  }

  private static ObjectReference reference(
      GuardedPod pod, String apiVersion, String kind, String name, String uid) {
    return new ObjectReferenceBuilder()
        .withApiVersion(apiVersion)
        .withKind(kind)
        .withNamespace(pod.namespace())
        .withName(name)
        .withUid(uid.isEmpty() ? null : uid)
        .build();
  }

  private static Event event(
      String namespace, ObjectReference regarding, FindingOutcome found, Instant now) {
    String time = now.truncatedTo(ChronoUnit.SECONDS).toString();
    return new EventBuilder()
        .withNewMetadata()
        .withGenerateName("tranche-guard-")
        .withNamespace(namespace)
        .endMetadata()
        .withInvolvedObject(regarding)
        .withType("Warning")
        .withReason("GpuGuard")
        .withAction(found.outcome().toString())
        .withMessage(
            Printable.message(found.what()) + " (" + found.finding() + ", " + found.outcome() + ")")
        .withFirstTimestamp(time)
        .withLastTimestamp(time)
        .withCount(1)
        .withNewSource()
        .withComponent("tranche-webhook")
        .endSource()
        .withReportingComponent("tranche-webhook")
        .withReportingInstance("tranche-webhook")
        .build();
  }

  private void run() {
    try {
      while (!Thread.currentThread().isInterrupted()) {
        Event event = queue.take();
        // A pod is stored after its admission, mostly at once, and one that is denied never is.
        Thread.sleep(BETWEEN_MS);
        if (!wrote(event)) {
          long ageMs = clock.millis() - Instant.parse(event.getFirstTimestamp()).toEpochMilli();
          Thread.sleep(Math.clamp(STORED_MS - ageMs, BETWEEN_MS, STORED_MS));
          write(event);
        }
      }
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  void write(Event event) {
    if (!wrote(event)) {
      metrics.guardEventDropped();
    }
  }

  /** Only for what the API server has: whoever posts a review may name anything. */
  private boolean wrote(Event event) {
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
