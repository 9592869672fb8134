package dev.tranche.webhook.events;

import static dev.tranche.webhook.pod.PodView.text;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Printable;
import dev.tranche.process.TokenBucket;
import dev.tranche.process.client.Events;
import dev.tranche.process.log.LineLimiter;
import dev.tranche.process.loop.MonotonicClock;
import dev.tranche.webhook.guard.FindingOutcome;
import dev.tranche.webhook.guard.GuardedPod;
import dev.tranche.webhook.metrics.WebhookMetrics;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.ObjectReference;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes what the guard finds in pods, and what admission warns of, as Events: a hundred at ten per
 * second, and then one per second. An Event refers to the pod's controller, since the pod does not
 * exist yet at its creation. Events that are refused, or come while the queue is full, are dropped
 * and counted. Thread-safe.
 */
public final class AdmissionEvents implements AutoCloseable {
  static final String WARNING_REASON = "GpuRequestWarning";
  private static final String FINDING_REASON = "GpuGuard";

  static final int QUEUED_MAX = 256;
  static final int REMEMBERED_MAX = 4_096;

  /**
   * Anyone who reaches the port can post a review that names any object. So an Event has only names
   * that Kubernetes takes, and one of our sentences, which quotes short values alone.
   */
  private static final Pattern NAME = Pattern.compile("[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?");

  private static final Pattern KIND = Pattern.compile("[A-Z][A-Za-z0-9]{0,62}");
  private static final Pattern API_VERSION =
      Pattern.compile("([-a-z0-9.]{1,253}/)?v[a-z0-9]{1,62}");
  private static final Pattern UID = Pattern.compile("[-a-zA-Z0-9]{1,64}");

  /** What warnings quote in full: names of containers, schedulers and annotations, and labels. */
  private static final Pattern QUOTED = Pattern.compile("[-A-Za-z0-9_./]{0,317}");

  private static final String COMPONENT = "tranche-webhook";
  private static final Duration AGAIN_AFTER = Duration.ofMinutes(10);
  private static final long WRITE_INTERVAL_MS = 100;

  /** Anyone can cause Events, and etcd keeps each for an hour. */
  private static final int BURST = 100;

  private static final int PER_SECOND = 1;
  private static final Logger LOG = LoggerFactory.getLogger(AdmissionEvents.class);

  private final KubernetesClient client;
  private final WebhookMetrics metrics;
  private final LineLimiter findingLog = new LineLimiter(LOG, "the guard's findings in namespace");
  final BlockingQueue<Event> queue = new ArrayBlockingQueue<>(QUEUED_MAX);
  private final Thread thread = Thread.ofPlatform().name("events").daemon().unstarted(this::run);

  /** What was reported lately, by a hash: the texts of others may be long. Guarded by itself. */
  private final Set<UUID> reported = new HashSet<>();

  /** When the set was emptied. */
  private Instant reportedSince = Instant.now();

  public AdmissionEvents(KubernetesClient client, WebhookMetrics metrics) {
    this.client = client;
    this.metrics = metrics;
  }

  public void start() {
    thread.start();
  }

  /**
   * Reports a finding in the log and as an Event, once in ten minutes. A pod without a controller
   * is referred to by its name. Never waits.
   *
   * @param podName for the log
   */
  public void found(String podName, GuardedPod pod, FindingOutcome found) {
    JsonNode metadata = pod.view().pod().path("metadata");
    ObjectReference regarding =
        controllerOf(pod.namespace(), metadata)
            .orElseGet(() -> Events.pod(pod.namespace(), text(metadata, "name"), uid(metadata)));
    String what = "%s, %s".formatted(found.finding(), found.outcome());
    // A pod of a generateName has no name yet.
    String unnamed = regarding.getName().isEmpty() ? podName : "";
    UUID id = Events.uuid(regarding + unnamed + what);
    if (isDue(id)) {
      if (findingLog.tryAcquire(Printable.name(pod.namespace()))) {
        LOG.info("guard: pod {} {}: {}", podName, found.outcome(), found.description());
      }
      add(regarding, id, FINDING_REASON, found.description() + " (" + what + ")");
    }
  }

  /**
   * Reports warnings, each once in ten minutes for a controller. kubectl shows the warnings about a
   * pod that somebody creates, but a controller drops those about its pods. Never waits.
   *
   * @param pod as it was created
   */
  public void warned(String namespace, JsonNode pod, List<String> warnings) {
    controllerOf(namespace, pod.path("metadata"))
        .filter(controller -> !warnings.isEmpty())
        .filter(controller -> quotedFrom(pod).allMatch(text -> QUOTED.matcher(text).matches()))
        .ifPresent(
            controller -> {
              for (String warning : warnings) {
                UUID id = Events.uuid(controller + warning);
                if (isDue(id)) {
                  add(controller, id, WARNING_REASON, warning);
                }
              }
            });
  }

  private static Stream<String> quotedFrom(JsonNode pod) {
    JsonNode metadata = pod.path("metadata");
    JsonNode spec = pod.path("spec");
    Stream<JsonNode> values =
        Stream.of(
                Stream.of(spec.path("schedulerName")),
                metadata.path("labels").valueStream(),
                spec.path("containers").valueStream().map(each -> each.path("name")),
                spec.path("initContainers").valueStream().map(each -> each.path("name")))
            .flatMap(each -> each);
    return Stream.concat(
        values.map(each -> each.asText("")),
        metadata.path("annotations").propertyStream().map(Map.Entry::getKey));
  }

  /** Returns a pod's controller; empty if it has none. */
  private static Optional<ObjectReference> controllerOf(String namespace, JsonNode podMetadata) {
    return podMetadata
        .path("ownerReferences")
        .valueStream()
        .filter(owner -> owner.path("controller").asBoolean())
        .findFirst()
        .map(
            owner ->
                Events.object(
                    text(owner, "apiVersion"),
                    text(owner, "kind"),
                    namespace,
                    text(owner, "name"),
                    uid(owner)));
  }

  private static @Nullable String uid(JsonNode object) {
    String uid = text(object, "uid");
    return UID.matcher(uid).matches() ? uid : null;
  }

  private boolean isDue(UUID id) {
    Instant now = Instant.now();
    synchronized (reported) {
      if (now.isAfter(reportedSince.plus(AGAIN_AFTER)) || reported.size() >= REMEMBERED_MAX) {
        reported.clear();
        reportedSince = now;
      }
      return reported.add(id);
    }
  }

  /**
   * @param id the same for the same event in another replica, which is then written once
   */
  private void add(ObjectReference regarding, UUID id, String reason, String message) {
    if (NAME.matcher(regarding.getNamespace()).matches()
        && NAME.matcher(regarding.getName()).matches()
        && KIND.matcher(regarding.getKind()).matches()
        && API_VERSION.matcher(regarding.getApiVersion()).matches()) {
      Event event = Events.warning(COMPONENT, regarding, id, reason, message);
      if (!queue.offer(event)) {
        metrics.eventsDropped.increment();
      }
    }
  }

  private void run() {
    var rate = new TokenBucket(BURST, PER_SECOND, MonotonicClock::ms);
    try {
      while (!Thread.currentThread().isInterrupted()) {
        Event event = queue.take();
        rate.take(1);
        Thread.sleep(Math.max(WRITE_INTERVAL_MS, rate.debtMs()));
        write(event);
      }
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  private void write(Event event) {
    try {
      client.v1().events().inNamespace(event.getMetadata().getNamespace()).resource(event).create();
    } catch (RuntimeException failed) {
      LOG.debug("an Event was not written: {}", failed.toString());
      // Another replica, or this one before it started again, has written the same.
      if (!Events.exists(failed)) {
        metrics.eventsDropped.increment();
      }
    }
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
