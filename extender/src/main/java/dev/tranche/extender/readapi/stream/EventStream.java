package dev.tranche.extender.readapi.stream;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.readapi.query.Problem;
import dev.tranche.extender.readapi.row.PodJson;
import dev.tranche.extender.readapi.row.Snapshot;
import dev.tranche.extender.readapi.row.SummaryJson;
import dev.tranche.extender.readapi.row.WaitingReasons;
import dev.tranche.extender.readapi.stream.RowChanges.Change;
import io.micrometer.core.instrument.Counter;
import io.vertx.core.AsyncResult;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends server-sent events: one snapshot of all rows, then the changes, once a second. A worker
 * computes and writes each change once for all readers; the extender's loop only provides what it
 * knows. Without readers nothing is done.
 */
public final class EventStream {
  public static final int READERS_MAX = 64;
  static final long PERIOD_MS = 1_000;

  /** Maximum size of a snapshot event, which is about 1 MiB for 1,000 GPUs. */
  static final int SNAPSHOT_BYTES_MAX = 64 << 20;

  /** Maximum of the bytes that wait to be sent, of all readers together. */
  static final long WAITING_BYTES_MAX = 256L << 20;

  private static final Logger LOG = LoggerFactory.getLogger(EventStream.class);

  private final Vertx vertx;
  private final Supplier<Future<Inspection>> snapshots;
  private final Function<Inspection, Snapshot> rows;
  private final LongSupplier clockMs;
  private final RowChanges changes;
  private final Semaphore places = new Semaphore(READERS_MAX);
  private final Set<StreamReader> readers = ConcurrentHashMap.newKeySet();
  private final AtomicBoolean busy = new AtomicBoolean();
  private final Counter dropped;
  private final Counter events;
  private long id;
  private long timer = -1;
  private Optional<Buffer> snapshotEvent = Optional.empty();

  /**
   * @param snapshots takes a snapshot, at most one a second
   * @param rows makes a snapshot's rows, on a worker
   */
  public EventStream(
      Vertx vertx,
      Supplier<Future<Inspection>> snapshots,
      Function<Inspection, Snapshot> rows,
      WaitingReasons reasons,
      LongSupplier clockMs,
      ExtenderMetrics metrics) {
    this.vertx = vertx;
    this.snapshots = snapshots;
    this.rows = rows;
    this.clockMs = clockMs;
    this.changes = new RowChanges(new PodJson(reasons), new SummaryJson(reasons));
    this.dropped =
        metrics.counter(
            "tranche.extender.read.api.stream.dropped",
            "Readers of the read API's stream that were disconnected because they read too slowly.");
    this.events =
        metrics.counter(
            "tranche.extender.read.api.stream.events",
            "Events of the read API's stream, each counted once for all readers.");
    metrics.gauge(
        "tranche.extender.read.api.stream.readers",
        "Readers of the read API's stream; bounded.",
        () -> READERS_MAX - places.availablePermits());
    metrics.gauge(
        "tranche.extender.read.api.stream.waiting.bytes",
        "Data buffered for readers of the read API's stream; bounded.",
        this::waitingBytes);
  }

  private long waitingBytes() {
    return readers.stream().mapToLong(StreamReader::waitingBytes).sum();
  }

  /**
   * Adds a reader, which gets a snapshot and the changes after it. The result says why it cannot
   * join; it is empty if it can.
   */
  public Future<Optional<Problem>> join(StreamReader reader) {
    if (!places.tryAcquire()) {
      return Future.succeededFuture(
          Optional.of(
              Problem.unavailable(
                  "%d readers read the stream; try again later".formatted(READERS_MAX))));
    }
    Future<Optional<Problem>> joined =
        snapshots
            .get()
            .compose(
                inspection ->
                    vertx.executeBlocking(() -> add(reader, rows.apply(inspection)), false));
    return joined.onComplete(
        result -> {
          if (result.failed() || result.result().isPresent()) {
            places.release();
          }
        });
  }

  private synchronized Optional<Problem> add(StreamReader reader, Snapshot snapshot) {
    if (readers.isEmpty()) {
      changes.next(snapshot);
      snapshotEvent = Optional.empty();
    }
    Buffer event = snapshotEvent();
    if (event.length() > SNAPSHOT_BYTES_MAX) {
      return Optional.of(
          Problem.unavailable(
              "the cluster has more than the %d MiB that the stream begins with; page the lists instead"
                  .formatted(SNAPSHOT_BYTES_MAX >> 20)));
    }
    if (waitingBytes() + event.length() > WAITING_BYTES_MAX) {
      return Optional.of(
          Problem.unavailable(
              "%d MiB wait for the stream's readers; try again later"
                  .formatted(WAITING_BYTES_MAX >> 20)));
    }
    readers.add(reader);
    reader.begin(event, clockMs.getAsLong(), () -> remove(reader));
    if (timer < 0) {
      timer = vertx.setPeriodic(PERIOD_MS, due -> tick());
    }
    return Optional.empty();
  }

  /** Removes a reader, on any thread; a second call does nothing. */
  private void remove(StreamReader reader) {
    if (readers.remove(reader)) {
      places.release();
    }
  }

  private void tick() {
    if (!busy.compareAndSet(false, true)) {
      return;
    }
    snapshots
        .get()
        .transform(inspection -> vertx.executeBlocking(() -> sendAndCheck(inspection), false))
        .onFailure(failure -> LOG.error("cannot send updates to the stream's readers", failure))
        .onComplete(done -> busy.set(false));
  }

  /** Sends what has changed, then checks the readers, even if no snapshot could be taken. */
  private boolean sendAndCheck(AsyncResult<Inspection> inspection) {
    if (inspection.succeeded()) {
      sendChanges(inspection.result());
    } else {
      LOG.warn("the stream's readers get no updates: {}", inspection.cause().toString());
    }
    long nowMs = clockMs.getAsLong();
    readers.forEach(reader -> check(reader, nowMs));
    return true;
  }

  private void check(StreamReader reader, long nowMs) {
    if (reader.checkTooSlow(nowMs)) {
      dropped.increment();
      reader.drop();
    } else {
      reader.keepAliveAndReview(nowMs);
    }
  }

  private synchronized void sendChanges(Inspection inspection) {
    if (readers.isEmpty()) {
      vertx.cancelTimer(timer);
      timer = -1;
      snapshotEvent = Optional.empty();
      changes.forget();
      return;
    }
    switch (changes.next(rows.apply(inspection))) {
      case Change.None() -> {}
      case Change.Reset() -> {
        snapshotEvent = Optional.empty();
        sendToAll(snapshotEvent());
      }
      case Change.Some(Buffer json) -> {
        snapshotEvent = Optional.empty();
        sendToAll(event("change", json));
      }
    }
  }

  private void sendToAll(Buffer event) {
    long nowMs = clockMs.getAsLong();
    List.copyOf(readers).forEach(reader -> reader.send(event, nowMs));
  }

  /** Returns the snapshot event, the same for all readers that join before the next change. */
  private Buffer snapshotEvent() {
    Buffer known = snapshotEvent.orElseGet(() -> event("snapshot", changes.snapshotJson()));
    snapshotEvent = Optional.of(known);
    return known;
  }

  private Buffer event(String name, Buffer json) {
    events.increment();
    id++;
    return Buffer.buffer("event: " + name + "\nid: " + id + "\ndata: ")
        .appendBuffer(json)
        .appendString("\n\n");
  }
}
