package dev.tranche.extender.controller;

import dev.tranche.extender.explain.WaitCause;
import dev.tranche.extender.explain.WaitReason;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.process.TokenBucket;
import dev.tranche.process.client.Events;
import io.fabric8.kubernetes.api.model.Event;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Writes an event for each pod that waits: once it has waited for some seconds, and again when the
 * reason changes, or has stayed for most of an hour. Changed figures write none, nor do gates,
 * which somebody set on purpose. An event's name is derived from the pod's uid, the reason and the
 * pod's age, so that it stays one event over replicas and restarts. What exceeds the rate is told
 * by a later survey. Confined to the loop.
 */
public final class WaitEvents implements WaitSurvey.Listener {
  /** Most pods are bound before. */
  static final long AFTER_MS = 10_000;

  /** The least time between two events of one pod, whose reason may alternate. */
  static final long BETWEEN_MS = 300_000;

  /** A reason that stays is told again before the API server deletes the event after an hour. */
  static final long REPEAT_MS = 3_000_000;

  static final int PODS_MAX = 10_000;

  static final int BURST = 50;

  static final int PER_SECOND = 10;

  private final ControllerContext context;
  private final TokenBucket rate;

  /** By uid. */
  final Map<String, Waiting> pods = new HashMap<>();

  /** A pod that waits, and what its owner was told last. */
  static final class Waiting {
    final long sinceMs;
    final long createdMs;
    @Nullable WaitReason told;
    long toldAtMs;

    Waiting(long sinceMs, long createdMs) {
      this.sinceMs = sinceMs;
      this.createdMs = createdMs;
    }

    boolean isDue(WaitReason reason, long nowMs) {
      boolean news = told != reason || period(nowMs) != period(toldAtMs);
      return nowMs - sinceMs >= AFTER_MS
          && (told == null || (news && nowMs - toldAtMs >= BETWEEN_MS));
    }

    /** How many times {@link #REPEAT_MS} the pod has existed; the same after a restart. */
    long period(long nowMs) {
      return (nowMs - createdMs) / REPEAT_MS;
    }
  }

  public WaitEvents(ControllerContext context) {
    this.context = context;
    this.rate = new TokenBucket(BURST, PER_SECOND, context::nowMs);
  }

  @Override
  public void waits(PodFacts pod, WaitCause cause, String figures) {
    if (!context.deciding() || cause.reason() == WaitReason.GATED) {
      return;
    }
    long nowMs = context.nowMs();
    Waiting known = pods.get(pod.uid());
    if (known == null) {
      if (pods.size() >= PODS_MAX) {
        return;
      }
      known = new Waiting(nowMs, createdMs(pod, nowMs));
      pods.put(pod.uid(), known);
    }
    if (known.isDue(cause.reason(), nowMs) && rate.tryAcquire()) {
      write(pod, cause, figures, known);
    }
  }

  /** A conflict means that the event exists already. After a failure that may pass, it is due. */
  private void write(PodFacts pod, WaitCause cause, String figures, Waiting known) {
    long nowMs = context.nowMs();
    Event event = event(pod, cause, figures, known.period(nowMs));
    known.told = cause.reason();
    known.toldAtMs = nowMs;
    context
        .api()
        .podEvent(event)
        .onFailure(
            failure -> {
              if (Events.isPassing(failure)) {
                known.told = null;
              }
            });
  }

  /**
   * @param period how many times {@link #REPEAT_MS} the pod had existed
   */
  private static Event event(PodFacts pod, WaitCause cause, String figures, long period) {
    WaitReason reason = cause.reason();
    String text = cause.line() + ". " + cause.whatToDo();
    String more = reason.isOfGpus() ? figures : "";
    Event event =
        Events.warning(
            ApiWriter.COMPONENT,
            Events.pod(pod.namespace(), pod.name(), pod.uid()),
            Events.uuid(reason + pod.uid() + (period == 0 ? "" : " " + period)),
            reason.event(),
            more.isEmpty() ? text : text + " " + more);
    if (reason.isUsual()) {
      event.setType("Normal");
    }
    return event;
  }

  /** A pod without a time of creation, or with one that is still to come, is new. */
  private long createdMs(PodFacts pod, long nowMs) {
    long since1970Ms = pod.preemption().startedAtMs();
    return since1970Ms == 0
        ? nowMs
        : Math.min(nowMs, context.core().toClock.applyAsLong(since1970Ms));
  }

  @Override
  public void retain(Set<String> waiting) {
    pods.keySet().retainAll(waiting);
  }
}
