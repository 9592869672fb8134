package dev.tranche.extender.controller;

import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.process.client.Events;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.micrometer.core.instrument.Counter;
import io.vertx.core.Future;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Writes one Warning event with one reason for each pod that is added. The event's name is derived
 * from the pod's uid, so that it stays one event over restarts and replicas. Bounded in pods and in
 * events per tick; namespaces have turns.
 */
final class PodEventQueue {
  static final int KNOWN_MAX = 10_000;
  static final int PER_TICK_MAX = 10;

  private static final int CONFLICT = 409;
  private static final int TOO_MANY = 429;

  private final String reason;
  private final Function<Event, Future<?>> writer;
  private final Counter written;
  private final Counter refused;
  private final Counter dropped;

  /** The added pods that have not been removed. */
  private final NamespaceTurns<Boolean> known = new NamespaceTurns<>(KNOWN_MAX);

  /** Those without an event yet. */
  private final NamespaceTurns<Notice> waiting = new NamespaceTurns<>(KNOWN_MAX);

  /**
   * @param key {@code namespace/name}
   */
  private record Notice(String key, String uid, String message) {
    String namespace() {
      return key.substring(0, key.indexOf('/'));
    }
  }

  /**
   * @param metric the counter's name; its label {@code outcome} is written, refused or dropped
   */
  PodEventQueue(
      String reason,
      Function<Event, Future<?>> writer,
      ExtenderMetrics metrics,
      String metric,
      String help) {
    this.reason = reason;
    this.writer = writer;
    written = metrics.counter(metric, help, "outcome", "written");
    refused = metrics.counter(metric, help, "outcome", "refused");
    dropped = metrics.counter(metric, help, "outcome", "dropped");
  }

  synchronized void add(String key, String uid, String message) {
    if (known.get(uid) != null) {
      return;
    }
    var notice = new Notice(key, uid, message);
    if (known.put(notice.namespace(), uid, true)) {
      waiting.put(notice.namespace(), uid, notice);
    } else {
      // Not remembered: it is added when the pod is seen again.
      dropped.increment();
    }
  }

  synchronized void remove(String uid) {
    known.remove(uid);
    waiting.remove(uid);
  }

  /** Keeps only these pods. */
  synchronized void retain(Set<String> uids) {
    known.retain(uids);
    waiting.retain(uids);
  }

  synchronized boolean knows(String uid) {
    return known.get(uid) != null;
  }

  synchronized int pods() {
    return known.size();
  }

  /** Writes the next events; call it about once a second. */
  void tick() {
    for (Notice notice : due()) {
      writer
          .apply(event(notice))
          .onSuccess(done -> written.increment())
          .onFailure(failure -> unwritten(notice, failure));
    }
  }

  private synchronized List<Notice> due() {
    return Stream.generate(() -> waiting.next(namespace -> true))
        .limit(PER_TICK_MAX)
        .takeWhile(Optional::isPresent)
        .map(Optional::orElseThrow)
        .toList();
  }

  /** Retries if the failure may pass. A conflict means that the event exists already. */
  private synchronized void unwritten(Notice notice, Throwable failure) {
    int code = failure instanceof KubernetesClientException e ? e.getCode() : 0;
    boolean passing = code < 400 || code >= 500 || code == TOO_MANY;
    if (!passing) {
      if (code != CONFLICT) {
        refused.increment();
      }
    } else if (known.get(notice.uid()) != null) {
      waiting.put(notice.namespace(), notice.uid(), notice);
    }
  }

  private Event event(Notice pod) {
    String namespace = pod.namespace();
    String name = pod.key().substring(namespace.length() + 1);
    return Events.warning(
        ApiWriter.COMPONENT,
        Events.pod(namespace, name, pod.uid()),
        Events.uuid(reason + pod.uid()),
        reason,
        pod.message());
  }
}
