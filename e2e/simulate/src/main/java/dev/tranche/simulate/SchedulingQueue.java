package dev.tranche.simulate;

import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * kube-scheduler's queue: pods that are ready, in backoff, or unschedulable until an event of the
 * cluster that matters to what has refused them. An idle scheduler takes refused pods out of their
 * backoff, since 1.33, but none that met an error.
 */
final class SchedulingQueue {
  private static final long BACKOFF_MS = 1_000;
  private static final long BACKOFF_MS_MAX = 10_000;

  /** Backoffs end at whole seconds. */
  private static final long SECOND_MS = 1_000;

  private static final long FLUSH_MS = 30_000;
  private static final long UNSCHEDULABLE_MS_MAX = 300_000;

  private enum Where {
    ACTIVE,
    BACKOFF,
    BACKOFF_AFTER_ERROR,
    UNSCHEDULABLE,
    IN_FLIGHT
  }

  private static final class Queued {
    final String uid;
    final int priority;
    Where where = Where.ACTIVE;
    long sinceMs;
    long readyAtMs;
    int refusals;
    int errors;
    boolean byTotals;
    boolean byExtender;

    /** Whether victims of its preemption are yet to be deleted: it is not queued before. */
    boolean preempting;

    /** Whether kube-scheduler has ignored an event meanwhile, and none has come since. */
    boolean eventLost;

    /** Whether the pod was changed during the attempt. */
    boolean changed;

    Queued(String uid, int priority, long sinceMs) {
      this.uid = uid;
      this.priority = priority;
      this.sinceMs = sinceMs;
    }
  }

  /**
   * One attempt at a pod.
   *
   * @param totalsEvents those that had happened when it began
   * @param anyEvents likewise
   */
  record Attempt(String uid, long totalsEvents, long anyEvents) {}

  private final SchedulerModel scheduler;
  private final Runnable ready;
  private final Map<String, Queued> pods = new LinkedHashMap<>();

  /** Events that matter to a pod that lacks replicas in total. */
  private long totalsEvents;

  /** Events that matter to a pod that the extender has refused. */
  private long anyEvents;

  SchedulingQueue(SchedulerModel scheduler, Runnable ready) {
    this.scheduler = scheduler;
    this.ready = ready;
  }

  void clear() {
    pods.clear();
  }

  void startTimers() {
    scheduler.every(FLUSH_MS, this::wakeForgotten);
    long toSecondMs = SECOND_MS - scheduler.queue.nowMs() % SECOND_MS;
    scheduler.run(toSecondMs, () -> scheduler.every(SECOND_MS, this::endBackoffs));
  }

  private void wakeForgotten() {
    long now = scheduler.queue.nowMs();
    for (Queued each : pods.values()) {
      if (each.where == Where.UNSCHEDULABLE && now - each.sinceMs > UNSCHEDULABLE_MS_MAX) {
        requeue(each);
      }
    }
    ready.run();
  }

  private void endBackoffs() {
    for (Queued each : pods.values()) {
      boolean backsOff = each.where == Where.BACKOFF || each.where == Where.BACKOFF_AFTER_ERROR;
      if (backsOff && each.readyAtMs <= scheduler.queue.nowMs()) {
        each.where = Where.ACTIVE;
      }
    }
    ready.run();
  }

  /** A pod that waits is new or has changed; also its status counts. */
  void seen(PodObject pod) {
    Queued known = pods.get(pod.uid());
    if (known == null) {
      pods.put(pod.uid(), new Queued(pod.uid(), pod.plan().priority(), scheduler.queue.nowMs()));
      ready.run();
    } else if (known.where == Where.IN_FLIGHT) {
      known.changed = true;
    } else if (known.where == Where.UNSCHEDULABLE && known.byExtender) {
      requeue(known);
      ready.run();
    }
  }

  void remove(String uid) {
    pods.remove(uid);
  }

  /** A pod that held replicas has ended, or was not bound. */
  void podDeleted() {
    totalsEvents++;
    anyEvents++;
    move(true);
  }

  /** A pod was bound, or a bound one has changed. */
  void boundPodChanged() {
    anyEvents++;
    move(false);
  }

  void nodeChanged(boolean grew) {
    anyEvents++;
    if (grew) {
      totalsEvents++;
    }
    move(grew);
  }

  /** All are moved before the first one is taken. */
  private void move(boolean totals) {
    for (Queued each : pods.values()) {
      if (each.where == Where.UNSCHEDULABLE && (each.byExtender || (totals && each.byTotals))) {
        requeue(each);
      }
    }
    ready.run();
  }

  /** An asynchronous preemption begins, or all victims but the last are deleted. */
  void preempting(String uid, boolean begins) {
    Queued each = pods.get(uid);
    if (each != null) {
      each.preempting = begins;
    }
  }

  /** Whether the pod waits for an event that was lost: kubernetes#141694. */
  boolean forgets(String uid) {
    Queued each = pods.get(uid);
    return each != null && each.where == Where.UNSCHEDULABLE && each.eventLost;
  }

  private void requeue(Queued each) {
    each.eventLost = each.preempting;
    if (each.preempting) {
      return;
    }
    if (each.readyAtMs <= scheduler.queue.nowMs()) {
      each.where = Where.ACTIVE;
    } else {
      each.where = each.errors > 0 ? Where.BACKOFF_AFTER_ERROR : Where.BACKOFF;
    }
  }

  @Nullable Attempt pop() {
    Comparator<Queued> byPriority =
        Comparator.comparingInt((Queued each) -> -each.priority)
            .thenComparingLong(each -> each.sinceMs);
    Queued next =
        first(Where.ACTIVE, byPriority)
            .or(
                () ->
                    first(
                        Where.BACKOFF,
                        Comparator.comparingLong((Queued each) -> each.readyAtMs)
                            .thenComparing(byPriority)))
            .orElse(null);
    if (next == null) {
      return null;
    }
    next.where = Where.IN_FLIGHT;
    next.changed = false;
    return new Attempt(next.uid, totalsEvents, anyEvents);
  }

  private Optional<Queued> first(Where where, Comparator<Queued> order) {
    return pods.values().stream().filter(each -> each.where == where).min(order);
  }

  /** An attempt has met an error: it is repeated without an event. */
  void failed(Attempt attempt) {
    Queued each = pods.get(attempt.uid());
    if (each != null && each.where == Where.IN_FLIGHT) {
      each.errors++;
      backOff(each, each.errors);
      requeue(each);
    }
  }

  /** The pod fits nowhere. */
  void refused(Attempt attempt, boolean byTotals, boolean byExtender) {
    Queued each = pods.get(attempt.uid());
    if (each == null || each.where != Where.IN_FLIGHT) {
      return;
    }
    each.errors = 0;
    each.refusals++;
    backOff(each, each.refusals);
    each.byTotals = byTotals;
    each.byExtender = byExtender;
    boolean missed =
        (byTotals && totalsEvents != attempt.totalsEvents())
            || (byExtender && (each.changed || anyEvents != attempt.anyEvents()));
    each.where = Where.UNSCHEDULABLE;
    if (missed) {
      requeue(each);
    }
  }

  private void backOff(Queued each, int times) {
    each.sinceMs = scheduler.queue.nowMs();
    long untilMs = each.sinceMs + Math.min(BACKOFF_MS_MAX, BACKOFF_MS << Math.min(10, times - 1));
    each.readyAtMs = (untilMs / SECOND_MS + 1) * SECOND_MS;
  }
}
