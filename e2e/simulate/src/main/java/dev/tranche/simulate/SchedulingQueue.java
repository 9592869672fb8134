package dev.tranche.simulate;

import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * kube-scheduler's queue: pods that are ready, in backoff, or unschedulable until an event of the
 * cluster that matters to what has refused them.
 */
final class SchedulingQueue {
  private static final long BACKOFF_MS = 1_000;
  private static final long BACKOFF_MS_MAX = 10_000;
  private static final long FLUSH_MS = 30_000;
  private static final long UNSCHEDULABLE_MS_MAX = 300_000;

  private enum Where {
    ACTIVE,
    BACKOFF,
    UNSCHEDULABLE,
    IN_FLIGHT
  }

  private static final class Queued {
    final String uid;
    final int priority;
    Where where = Where.ACTIVE;
    long sinceMs;
    long readyAtMs;
    int attempts;
    boolean byTotals;
    boolean byExtender;

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
    scheduler.every(FLUSH_MS, this::flush);
  }

  private void flush() {
    long now = scheduler.queue.nowMs();
    for (Queued each : List.copyOf(pods.values())) {
      if (each.where == Where.UNSCHEDULABLE && now - each.sinceMs > UNSCHEDULABLE_MS_MAX) {
        requeue(each);
      }
    }
  }

  void seen(PodObject pod) {
    if (!pods.containsKey(pod.uid())) {
      pods.put(pod.uid(), new Queued(pod.uid(), pod.plan().priority(), scheduler.queue.nowMs()));
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

  void nodeChanged(boolean grew) {
    anyEvents++;
    if (grew) {
      totalsEvents++;
    }
    move(grew);
  }

  private void move(boolean totals) {
    for (Queued each : List.copyOf(pods.values())) {
      if (each.where == Where.UNSCHEDULABLE && (each.byExtender || (totals && each.byTotals))) {
        requeue(each);
      }
    }
  }

  private void requeue(Queued each) {
    long now = scheduler.queue.nowMs();
    if (each.readyAtMs > now) {
      each.where = Where.BACKOFF;
      long atMs = each.readyAtMs;
      scheduler.run(
          atMs - now,
          () -> {
            if (pods.get(each.uid) == each && each.where == Where.BACKOFF) {
              activate(each);
            }
          });
    } else {
      activate(each);
    }
  }

  private void activate(Queued each) {
    each.where = Where.ACTIVE;
    each.sinceMs = scheduler.queue.nowMs();
    ready.run();
  }

  @Nullable Attempt pop() {
    Queued next =
        pods.values().stream()
            .filter(each -> each.where == Where.ACTIVE)
            .min(
                Comparator.comparingInt((Queued each) -> -each.priority)
                    .thenComparingLong(each -> each.sinceMs))
            .orElse(null);
    if (next == null) {
      return null;
    }
    next.where = Where.IN_FLIGHT;
    next.attempts++;
    return new Attempt(next.uid, totalsEvents, anyEvents);
  }

  /**
   * An attempt has failed.
   *
   * @param error it is tried again without an event
   */
  void failed(Attempt attempt, boolean error, boolean byTotals, boolean byExtender) {
    Queued each = pods.get(attempt.uid());
    if (each == null || each.where != Where.IN_FLIGHT) {
      return;
    }
    long now = scheduler.queue.nowMs();
    each.sinceMs = now;
    each.byTotals = byTotals;
    each.byExtender = byExtender;
    each.readyAtMs = now + Math.min(BACKOFF_MS_MAX, BACKOFF_MS << Math.min(10, each.attempts - 1));
    boolean missed =
        (byTotals && totalsEvents != attempt.totalsEvents())
            || (byExtender && anyEvents != attempt.anyEvents());
    each.where = Where.UNSCHEDULABLE;
    if (error || missed) {
      requeue(each);
    }
  }
}
