package dev.tranche.extender.cluster;

import dev.tranche.api.Printable;
import dev.tranche.extender.metrics.ExtenderMetrics;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.EventBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.micrometer.core.instrument.Counter;
import io.vertx.core.Future;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Tells pods that ask for a share and never got one, since they were created before the webhook was
 * there or past it: nobody else would, and they run as if they had asked for nothing. One event for
 * each pod, by a name that makes it one over restarts and replicas, ten a second at most. Pods come
 * from the informer's thread, the clock from the Ledger's loop.
 */
public final class Unshared {
  static final String REASON = "GpuShareMissing";
  static final int KNOWN_MAX = 10_000;
  static final int AT_ONCE_MAX = 10;

  private static final int NAME_CHARS_MAX = 200;
  private static final int CONFLICT = 409;
  private static final int TOO_MANY = 429;

  private final Set<String> schedulers;
  private final Function<Event, Future<?>> writer;
  private final BooleanSupplier deciding;
  private final Counter written;
  private final Counter refused;
  private final Counter dropped;

  /** Uids of the pods that are there now. */
  private final Set<String> known = new HashSet<>();

  /** Those of them that are not told yet, by uid, in their order: never more than are known. */
  private final Map<String, Untold> waiting = new LinkedHashMap<>();

  /**
   * @param key {@code namespace/name}
   * @param annotation that asks for the share
   */
  private record Untold(String key, String uid, String annotation) {}

  /**
   * @param schedulerName that the webhook sends pods to, beside the cluster's default one
   * @param deciding whether this extender may decide at all, as a leader does
   */
  public Unshared(
      String schedulerName,
      Function<Event, Future<?>> writer,
      BooleanSupplier deciding,
      ExtenderMetrics metrics) {
    this.schedulers =
        Stream.of("", "default-scheduler", schedulerName).collect(Collectors.toUnmodifiableSet());
    this.writer = writer;
    this.deciding = deciding;
    written = counter(metrics, "written");
    refused = counter(metrics, "refused");
    dropped = counter(metrics, "dropped");
    metrics.gauge(
        "tranche.extender.unshared.pods",
        "Pods that ask for a share of a GPU and were created past the webhook; 10,000 at most.",
        this::pods);
  }

  private static Counter counter(ExtenderMetrics metrics, String outcome) {
    String help = "Events for pods created past the webhook: dropped where too many are known.";
    return metrics.counter("tranche.extender.unshared.events", help, "outcome", outcome);
  }

  /**
   * Whether a pod asks for a share that it does not have; pods of other schedulers are left alone,
   * whatever they say.
   */
  private boolean lacks(PodShown pod) {
    return pod.unmetShare().isPresent() && schedulers.contains(pod.scheduler());
  }

  void seen(PodShown pod) {
    if (lacks(pod)) {
      add(pod, pod.unmetShare().orElseThrow());
    } else {
      gone(pod.uid());
    }
  }

  private synchronized void add(PodShown pod, String annotation) {
    if (known.contains(pod.uid())) {
      return;
    }
    if (known.size() >= KNOWN_MAX) {
      // Not remembered: when it changes, it is told.
      dropped.increment();
      return;
    }
    known.add(pod.uid());
    waiting.put(pod.uid(), new Untold(pod.key(), pod.uid(), annotation));
  }

  synchronized void gone(String uid) {
    known.remove(uid);
    waiting.remove(uid);
  }

  private synchronized int pods() {
    return known.size();
  }

  /** Once a second. */
  public void tick() {
    if (!deciding.getAsBoolean()) {
      return;
    }
    for (Untold pod : due()) {
      writer
          .apply(event(pod))
          .onSuccess(done -> written.increment())
          .onFailure(failure -> unwritten(pod, failure));
    }
  }

  private synchronized List<Untold> due() {
    List<Untold> due = waiting.values().stream().limit(AT_ONCE_MAX).toList();
    due.forEach(pod -> waiting.remove(pod.uid()));
    return due;
  }

  /** A conflict says that it is written already. */
  private synchronized void unwritten(Untold pod, Throwable failure) {
    int code = failure instanceof KubernetesClientException e ? e.getCode() : 0;
    boolean passing = code < 400 || code >= 500 || code == TOO_MANY;
    if (!passing) {
      if (code != CONFLICT) {
        refused.increment();
      }
    } else if (known.contains(pod.uid())) {
      waiting.put(pod.uid(), pod);
    }
  }

  private static Event event(Untold pod) {
    String now = Instant.now().truncatedTo(ChronoUnit.SECONDS).toString();
    String namespace = pod.key().substring(0, pod.key().indexOf('/'));
    String name = pod.key().substring(namespace.length() + 1);
    String id =
        UUID.nameUUIDFromBytes((REASON + pod.uid()).getBytes(StandardCharsets.UTF_8)).toString();
    return new EventBuilder()
        .withNewMetadata()
        .withNamespace(namespace)
        .withName(name.substring(0, Math.min(name.length(), NAME_CHARS_MAX)) + "." + id)
        .endMetadata()
        .withNewInvolvedObject()
        .withApiVersion("v1")
        .withKind("Pod")
        .withNamespace(namespace)
        .withName(name)
        .withUid(pod.uid())
        .endInvolvedObject()
        .withType("Warning")
        .withReason(REASON)
        .withMessage(
            "this pod asks for a share of a GPU (%s) and does not have it: it was created before Tranche's webhook or past it, so nothing has turned that into a request. Delete it and have it created anew; for a Deployment, kubectl rollout restart."
                .formatted(Printable.value(pod.annotation())))
        .withNewSource()
        .withComponent("tranche-extender")
        .endSource()
        .withFirstTimestamp(now)
        .withLastTimestamp(now)
        .withCount(1)
        .build();
  }
}
