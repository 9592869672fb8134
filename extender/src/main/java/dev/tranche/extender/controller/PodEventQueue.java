package dev.tranche.extender.controller;

import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.process.client.Events;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.micrometer.core.instrument.Counter;
import io.vertx.core.Future;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/**
 * Writes one Warning event with one reason for each pod that is added. The event's name is derived
 * from the pod's uid, so that it stays one event over restarts and replicas. Bounded in pods and in
 * events per tick.
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

  /** Uids of the added pods that have not been removed. */
  private final Set<String> known = new HashSet<>();

  /** The known pods without an event yet, by uid, in the order in which they were added. */
  private final Map<String, Notice> waiting = new LinkedHashMap<>();

  /**
   * @param key {@code namespace/name}
   */
  private record Notice(String key, String uid, String message) {}

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
    if (known.contains(uid)) {
      return;
    }
    if (known.size() >= KNOWN_MAX) {
      // Not remembered: it is added when the pod is seen again.
      dropped.increment();
      return;
    }
    known.add(uid);
    waiting.put(uid, new Notice(key, uid, message));
  }

  synchronized void remove(String uid) {
    known.remove(uid);
    waiting.remove(uid);
  }

  /** Keeps only these pods. */
  synchronized void retain(Set<String> uids) {
    known.retainAll(uids);
    waiting.keySet().retainAll(uids);
  }

  synchronized boolean knows(String uid) {
    return known.contains(uid);
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
    List<Notice> due = waiting.values().stream().limit(PER_TICK_MAX).toList();
    due.forEach(notice -> waiting.remove(notice.uid()));
    return due;
  }

  /** Retries if the failure may pass. A conflict means that the event exists already. */
  private synchronized void unwritten(Notice notice, Throwable failure) {
    int code = failure instanceof KubernetesClientException e ? e.getCode() : 0;
    boolean passing = code < 400 || code >= 500 || code == TOO_MANY;
    if (!passing) {
      if (code != CONFLICT) {
        refused.increment();
      }
    } else if (known.contains(notice.uid())) {
      waiting.put(notice.uid(), notice);
    }
  }

  private Event event(Notice pod) {
    String namespace = pod.key().substring(0, pod.key().indexOf('/'));
    String name = pod.key().substring(namespace.length() + 1);
    return Events.warning(
        ApiWriter.COMPONENT,
        Events.pod(namespace, name, pod.uid()),
        Events.uuid(reason + pod.uid()),
        reason,
        pod.message());
  }
}
