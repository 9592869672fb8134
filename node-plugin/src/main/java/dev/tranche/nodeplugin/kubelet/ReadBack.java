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
 * Reads back from the kubelet who holds which replica: at a slow beat, slower yet while nobody
 * holds any, and soon after an Allocate. Never while the kubelet is between a question and its own
 * book-keeping: a List then can make it forget its pick. Confined to the event loop.
 */
final class ReadBack {
  private static final Logger LOG = LoggerFactory.getLogger(ReadBack.class);
  static final int BEAT_MS = 2_000;
  private static final int AFTER_ALLOCATE_MS = 100;
  private static final int RETRY_MS = 50;
  private static final int LIMIT_MS = 2_000;
  // The kubelet writes an Allocate down right after our answer.
  private static final int SETTLE_MS = 30;

  private final Vertx vertx;
  private final PodResourcesClient client;
  private final Predicate<PodList> reader;
  private final BooleanSupplier registered;
  private final ReadBackPace pace = new ReadBackPace();
  private Future<PodList> inFlight = Future.failedFuture("none yet");
  private long quietFromMs;
  private long readAtMs = -1;
  // When the List was asked for that was read last; what it shows may be as old.
  private long listedAtMs = -1;
  private boolean soon;
  private boolean stopped;
  private boolean failing;

  /**
   * @param reader tells whether a List shows that somebody holds anything, or is about to
   * @param registered whether every Allocate comes to us, and not to another plugin
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
    // Registering comes first: until then no Allocate comes, and there is less to do at once.
    again(AFTER_ALLOCATE_MS);
  }

  private void beat() {
    boolean due = pace.beat(registered.getAsBoolean());
    if (due && !soon) {
      read();
    }
  }

  /** The kubelet may be another, which tells bit by bit what is held. */
  void disturbed() {
    pace.disturbed();
  }

  /** The kubelet asks: no List until it has answered for itself, or given up. */
  void asked(long nowMs) {
    pace.disturbed();
    quietFromMs = nowMs + Admissions.TOGETHER_MS;
  }

  /** The kubelet has its last answer for this container. */
  void settled(long nowMs) {
    pace.disturbed();
    quietFromMs = nowMs + SETTLE_MS;
    again(AFTER_ALLOCATE_MS);
  }

  /** Completes when no List of ours is under way, and in any case after that time. */
  Future<Void> idle(int limitMs) {
    return inFlight.isComplete()
        ? Future.succeededFuture()
        : inFlight.timeout(limitMs, TimeUnit.MILLISECONDS).<Void>mapEmpty().otherwiseEmpty();
  }

  /** Seconds since the last success; NaN before the first. */
  double ageSeconds(long nowMs) {
    return readAtMs < 0 ? Double.NaN : (nowMs - readAtMs) / 1000.0;
  }

  /** Age of what was read last; empty before the first success. */
  OptionalLong listAgeMs(long nowMs) {
    return listedAtMs < 0 ? OptionalLong.empty() : OptionalLong.of(nowMs - listedAtMs);
  }

  void stop() {
    stopped = true;
  }

  private void again(int inMs) {
    if (!soon) {
      soon = true;
      vertx.setTimer(inMs, id -> read());
    }
  }

  private void read() {
    soon = false;
    if (stopped) {
      return;
    }
    long nowMs = System.nanoTime() / 1_000_000;
    if (nowMs < quietFromMs || !inFlight.isComplete()) {
      again(RETRY_MS);
      return;
    }
    inFlight = client.listIdle(LIMIT_MS);
    inFlight.onSuccess(list -> succeeded(list, nowMs)).onFailure(this::failed);
  }

  private void succeeded(PodList list, long askedAtMs) {
    listedAtMs = askedAtMs;
    readAtMs = System.nanoTime() / 1_000_000;
    if (failing) {
      LOG.info("PodResources answers again");
      failing = false;
    }
    pace.listed(reader.test(list));
  }

  private void failed(Throwable cause) {
    pace.disturbed();
    if (!failing) {
      LOG.warn(
          "PodResources does not answer, so the holders of replicas are unknown: {}",
          cause.toString());
      failing = true;
    }
  }
}
