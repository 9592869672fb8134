package dev.tranche.nodeplugin.kubelet;

import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads back from the kubelet who holds which replica. Reads periodically, less often while nobody
 * holds any, and soon after an Allocate. Never reads between a call of the kubelet and the
 * kubelet's own record of the result: a List then can make it forget its pick. Confined to the
 * event loop.
 */
final class ReadBack {
  private static final Logger LOG = LoggerFactory.getLogger(ReadBack.class);
  static final int BEAT_MS = 2_000;
  private static final int AFTER_ALLOCATE_MS = 100;
  private static final int RETRY_MS = 50;
  private static final int LIMIT_MS = 2_000;
  // The kubelet records an Allocate right after our answer.
  private static final int SETTLE_MS = 30;

  private final Vertx vertx;
  private final PodResourcesClient client;
  private final Predicate<PodList> reader;
  private final BooleanSupplier registered;
  private final ReadBackPace pace = new ReadBackPace();
  private Future<PodList> inFlight = Future.failedFuture("none yet");
  private long notBeforeMs;
  private long readAtMs = -1;
  // When the last List that was read was requested; what it shows may be as old as that.
  private long listedAtMs = -1;
  private boolean scheduled;
  private boolean stopped;
  private boolean failing;

  /**
   * @param reader reads a List and returns whether anybody holds replicas, or is about to
   * @param registered whether every Allocate reaches this plugin, and not another one
   */
  ReadBack(
      Vertx vertx,
      PodResourcesClient client,
      Predicate<PodList> reader,
      BooleanSupplier registered) {
    this.vertx = vertx;
    this.client = client;
    this.reader = reader;
    this.registered = registered;
  }

  void start() {
    vertx.setPeriodic(BEAT_MS, id -> beat());
    // Registration comes first: no Allocate comes before it, and there is less to do at once.
    scheduleRead(AFTER_ALLOCATE_MS);
  }

  private void beat() {
    boolean due = pace.beat(registered.getAsBoolean());
    if (due && !scheduled) {
      read();
    }
  }

  /** Reads more often again: a restarted kubelet may list the holders only bit by bit. */
  void readMoreOften() {
    pace.readMoreOften();
  }

  /**
   * Called at GetPreferredAllocation: no List until Allocate is answered, or has not come in time.
   */
  void pauseUntilAllocate(long nowMs) {
    pace.readMoreOften();
    notBeforeMs = nowMs + AllocationCalls.CALL_GAP_MAX_MS;
  }

  /** Called when Allocate is answered: reads back soon after. */
  void allocateAnswered(long nowMs) {
    pace.readMoreOften();
    notBeforeMs = nowMs + SETTLE_MS;
    scheduleRead(AFTER_ALLOCATE_MS);
  }

  /** Completes when none of our Lists is in flight, at the latest after {@code limitMs}. */
  Future<Void> awaitIdle(int limitMs) {
    return inFlight.isComplete()
        ? Future.succeededFuture()
        : inFlight.timeout(limitMs, TimeUnit.MILLISECONDS).<Void>mapEmpty().otherwiseEmpty();
  }

  /** Returns the seconds since the last success; NaN before the first. */
  double ageSeconds(long nowMs) {
    return readAtMs < 0 ? Double.NaN : (nowMs - readAtMs) / 1000.0;
  }

  /** Returns the age of the last List that was read; empty before the first success. */
  OptionalLong listAgeMs(long nowMs) {
    return listedAtMs < 0 ? OptionalLong.empty() : OptionalLong.of(nowMs - listedAtMs);
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
    long nowMs = System.nanoTime() / 1_000_000;
    if (nowMs < notBeforeMs || !inFlight.isComplete()) {
      scheduleRead(RETRY_MS);
      return;
    }
    inFlight = client.listIdle(LIMIT_MS);
    inFlight.onSuccess(list -> succeeded(list, nowMs)).onFailure(this::failed);
  }

  private void succeeded(PodList list, long requestedAtMs) {
    boolean held = reader.test(list);
    // Only now: a List that could not be taken over must not count as a recent one.
    listedAtMs = requestedAtMs;
    readAtMs = System.nanoTime() / 1_000_000;
    if (failing) {
      LOG.info("PodResources answers again");
      failing = false;
    }
    pace.listed(held);
  }

  private void failed(Throwable cause) {
    pace.readMoreOften();
    if (!failing) {
      LOG.warn(
          "PodResources does not answer, so the holders of replicas are unknown: {}",
          cause.toString());
      failing = true;
    }
  }
}
