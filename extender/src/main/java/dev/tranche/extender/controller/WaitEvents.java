package dev.tranche.extender.controller;

import dev.tranche.extender.explain.Explanations;
import dev.tranche.extender.explain.WaitCause;
import dev.tranche.extender.explain.WaitReason;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.limit.NodeRate;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.process.client.Events;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.micrometer.core.instrument.Counter;
import io.vertx.core.Future;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Writes an event for each pod that waits: once it has waited for some seconds, and again when the
 * reason changes, or has stayed for most of an hour. Changed figures write none, nor do gates,
 * which somebody set on purpose. An event's name is derived from the pod's uid, the reason and how
 * long the pod has waited, so that it stays one event over replicas. Confined to the loop.
 */
public final class WaitEvents implements Controller, Explanations.Owners {
  /** Most pods are bound before. */
  static final long AFTER_MS = 10_000;

  /** The least time between two events of one pod, whose reason may alternate. */
  static final long BETWEEN_MS = 300_000;

  /** A reason that stays is told again before the API server deletes the event after an hour. */
  static final long REPEAT_MS = 3_000_000;

  static final int PODS_MAX = 10_000;

  /** Events that wait to be written; the reason of more pods is told later. */
  static final int QUEUE_MAX = 1_000;

  /** A bucket for each namespace, and one for all. */
  public static final NodeRate.Limits RATE = new NodeRate.Limits(20, 500, 50, 10);

  /** The API server refuses more than 1,024 characters. */
  private static final int MESSAGE_CHARS_MAX = 1_000;

  private static final int CONFLICT = 409;
  private static final int TOO_MANY = 429;
  private static final String METRIC = "tranche.extender.wait.events";
  private static final String HELP = "Events that tell why a pod waits.";

  private final Function<Event, Future<?>> writer;
  private final BooleanSupplier deciding;
  private final NodeRate rate;
  private final LongSupplier clockMs;
  private final Counter written;
  private final Counter refused;
  private final Counter dropped;
  private final Map<String, Waiting> pods = new HashMap<>();

  /** By uid, in the order in which they were added. */
  private final Map<String, Notice> queue = new LinkedHashMap<>();

  /** A pod that waits, and what its owner was told last. */
  private static final class Waiting {
    final long sinceMs;
    @Nullable WaitReason told;
    long toldAtMs;

    Waiting(long sinceMs) {
      this.sinceMs = sinceMs;
    }

    boolean isDue(WaitReason reason, long nowMs) {
      return nowMs - sinceMs >= AFTER_MS
          && (told == null || nowMs - toldAtMs >= (told == reason ? REPEAT_MS : BETWEEN_MS));
    }

    long period(long nowMs) {
      return (nowMs - sinceMs) / REPEAT_MS;
    }
  }

  /**
   * @param period how many times {@link #REPEAT_MS} the pod had waited
   */
  private record Notice(
      String namespace, String name, String uid, WaitReason reason, long period, String message) {
    Event event() {
      Event event =
          Events.warning(
              ApiWriter.COMPONENT,
              Events.pod(namespace, name, uid),
              Events.uuid(reason + uid + (period == 0 ? "" : " " + period)),
              reason.event(),
              message);
      if (reason.isUsual()) {
        event.setType("Normal");
      }
      return event;
    }
  }

  /**
   * @param deciding whether this extender may decide at all, as a leader does
   * @param rate of events by namespace
   */
  public WaitEvents(
      Function<Event, Future<?>> writer,
      BooleanSupplier deciding,
      NodeRate rate,
      LongSupplier clockMs,
      ExtenderMetrics metrics) {
    this.writer = writer;
    this.deciding = deciding;
    this.rate = rate;
    this.clockMs = clockMs;
    written = metrics.counter(METRIC, HELP, "outcome", "written");
    refused = metrics.counter(METRIC, HELP, "outcome", "refused");
    dropped = metrics.counter(METRIC, HELP, "outcome", "dropped");
    metrics.gauge(
        "tranche.extender.wait.events.queued",
        "Events that tell why a pod waits, and are still to be written; 1,000 at most.",
        queue::size);
  }

  @Override
  public void waits(PodFacts pod, WaitCause cause, Supplier<String> figures) {
    if (!deciding.getAsBoolean() || cause.reason() == WaitReason.GATED) {
      return;
    }
    long nowMs = clockMs.getAsLong();
    Waiting known = pods.get(pod.uid());
    if (known == null) {
      if (pods.size() >= PODS_MAX) {
        dropped.increment();
        return;
      }
      known = new Waiting(nowMs);
      pods.put(pod.uid(), known);
    }
    if (known.isDue(cause.reason(), nowMs) && queue.size() < QUEUE_MAX) {
      known.told = cause.reason();
      known.toldAtMs = nowMs;
      queue.put(
          pod.uid(),
          new Notice(
              pod.namespace(),
              pod.name(),
              pod.uid(),
              cause.reason(),
              known.period(nowMs),
              message(cause, figures)));
    }
  }

  private static String message(WaitCause cause, Supplier<String> figures) {
    String text = cause.line() + ". " + cause.whatToDo();
    if (cause.reason().isOfGpus()) {
      text += " " + figures.get();
    }
    return text.length() <= MESSAGE_CHARS_MAX
        ? text
        : text.substring(0, MESSAGE_CHARS_MAX - 1) + "…";
  }

  /** Keeps only these pods, by uid. */
  void retain(Set<String> waiting) {
    pods.keySet().retainAll(waiting);
    queue.keySet().retainAll(waiting);
  }

  int pods() {
    return pods.size();
  }

  /** Writes the next events. */
  @Override
  public void tick() {
    if (!deciding.getAsBoolean()) {
      return;
    }
    for (Iterator<Notice> next = queue.values().iterator(); next.hasNext(); ) {
      Notice notice = next.next();
      if (rate.available(notice.namespace()) && rate.tryAcquire(notice.namespace())) {
        next.remove();
        writer
            .apply(notice.event())
            .onSuccess(done -> written.increment())
            .onFailure(failure -> unwritten(notice, failure));
      }
    }
  }

  /** A conflict means that the event exists already. After a failure that may pass, it is due. */
  private void unwritten(Notice notice, Throwable failure) {
    int code = failure instanceof KubernetesClientException e ? e.getCode() : 0;
    boolean passing = code < 400 || code >= 500 || code == TOO_MANY;
    Waiting known = pods.get(notice.uid());
    if (passing && known != null) {
      known.told = null;
    } else if (code != CONFLICT) {
      refused.increment();
    }
  }
}
