package dev.tranche.nodeplugin.kubelet;

import dev.tranche.process.loop.MonotonicClock;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads back from the kubelet who holds which replica. Reads periodically, and soon after an
 * Allocate. Never reads between a call of the kubelet and the kubelet's own record of the result: a
 * List then can make it forget its pick. Confined to the event loop.
 */
final class ReadBack {
  private static final Logger LOG = LoggerFactory.getLogger(ReadBack.class);
  private static final int BEAT_MS = 2_000;
  private static final int AFTER_ALLOCATE_MS = 100;
  private static final int RETRY_MS = 50;
  // The least that a timer takes.
  private static final int AT_ONCE_MS = 1;
  private static final int LIMIT_MS = 2_000;
  // The kubelet records an Allocate right after our answer.
  private static final int SETTLE_MS = 30;

  private final Vertx vertx;
  private final PodResourcesClient client;
  private final Consumer<PodList> reader;
  private Future<PodList> inFlight = Future.failedFuture("none yet");
  private long notBeforeMs;
  // When the last List that was read was requested; what it shows may be as old as that.
  private long listedAtMs = -1;
  private boolean scheduled;
  private boolean stopped;
  private boolean failing;

  ReadBack(Vertx vertx, PodResourcesClient client, Consumer<PodList> reader) {
    this.vertx = vertx;
    this.client = client;
    this.reader = reader;
  }

  void start() {
    vertx.setPeriodic(BEAT_MS, id -> scheduleRead(AT_ONCE_MS));
    // Registration comes first: no Allocate comes before it, and there is less to do at once.
    scheduleRead(AFTER_ALLOCATE_MS);
  }

  /**
   * Called at GetPreferredAllocation: no List until Allocate is answered, or has not come in time.
   */
  void pauseUntilAllocate(long nowMs) {
    notBeforeMs = nowMs + AllocationCalls.CALL_GAP_MAX_MS;
  }

  /** Called when Allocate is answered: reads back soon after. */
  void allocateAnswered(long nowMs) {
    notBeforeMs = nowMs + SETTLE_MS;
    scheduleRead(AFTER_ALLOCATE_MS);
  }

  /** Completes when none of our Lists is in flight, at the latest after {@code limitMs}. */
  Future<Void> awaitIdle(int limitMs) {
    return inFlight.isComplete()
        ? Future.succeededFuture()
        : inFlight.timeout(limitMs, TimeUnit.MILLISECONDS).<Void>mapEmpty().otherwiseEmpty();
  }

  /** Returns the age of the last List that was read; empty before the first success. */
  Optional<Long> listAgeMs(long nowMs) {
    return listedAtMs < 0 ? Optional.empty() : Optional.of(nowMs - listedAtMs);
  }

  void stop() {
    stopped = true;
  }

  private void scheduleRead(int inMs) {
    if (!scheduled) {
      scheduled = true;
      vertx.setTimer(inMs, id -> read());
    }
  }

  private void read() {
    scheduled = false;
    if (stopped) {
      return;
    }
    long nowMs = MonotonicClock.ms();
    if (nowMs < notBeforeMs || !inFlight.isComplete()) {
      scheduleRead(RETRY_MS);
      return;
    }
    inFlight = client.list(LIMIT_MS);
    inFlight.onSuccess(list -> succeeded(list, nowMs)).onFailure(this::failed);
  }

  private void succeeded(PodList list, long requestedAtMs) {
    reader.accept(list);
    // Only now: a List that could not be taken over must not count as a recent one.
    listedAtMs = requestedAtMs;
    if (failing) {
      LOG.info("PodResources answers again");
      failing = false;
    }
  }

  private void failed(Throwable cause) {
    if (!failing) {
      LOG.warn(
          "PodResources does not answer, so the holders of replicas are unknown: {}",
          cause.toString());
      failing = true;
    }
  }
}
