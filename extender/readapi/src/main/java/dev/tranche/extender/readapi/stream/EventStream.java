package dev.tranche.extender.readapi.stream;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.readapi.query.Problem;
import dev.tranche.extender.readapi.row.Snapshot;
import dev.tranche.extender.readapi.row.WaitingReasons;
import dev.tranche.extender.readapi.stream.RowChanges.Change;
import dev.tranche.process.meters.Meters;
import io.micrometer.core.instrument.Counter;
import io.vertx.core.AsyncResult;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
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

  /** Of one token, or of one address without a token. */
  public static final int READERS_PER_OWNER_MAX = 32;

  static final long PERIOD_MS = 1_000;

  /**
   * Maximum of the bytes that are kept for readers; each event counts once, since all readers share
   * it. A snapshot is about 1 MiB for 1,000 GPUs.
   */
  private static final long WAITING_BYTES_MAX = Runtime.getRuntime().maxMemory() / 4;

  private static final Logger LOG = LoggerFactory.getLogger(EventStream.class);

  private final Vertx vertx;
  private final Supplier<Future<Inspection>> snapshots;
  private final Function<Inspection, Snapshot> rows;
  private final LongSupplier clockMs;
  private final RowChanges changes;
  private final long waitingBytesMax;

  /** Places that are taken, by owner. */
  private final Map<String, Integer> places = new HashMap<>();

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
   * @param clusterName empty where nobody has named the cluster
   */
  public EventStream(
      Vertx vertx,
      Supplier<Future<Inspection>> snapshots,
      Function<Inspection, Snapshot> rows,
      WaitingReasons reasons,
      String clusterName,
      LongSupplier clockMs,
      Meters metrics) {
    this(vertx, snapshots, rows, reasons, clusterName, clockMs, metrics, WAITING_BYTES_MAX);
  }

  /**
   * @param waitingBytesMax maximum of the bytes that are kept for readers
   */
  public EventStream(
      Vertx vertx,
      Supplier<Future<Inspection>> snapshots,
      Function<Inspection, Snapshot> rows,
      WaitingReasons reasons,
      String clusterName,
      LongSupplier clockMs,
      Meters metrics,
      long waitingBytesMax) {
    this.waitingBytesMax = waitingBytesMax;
    this.vertx = vertx;
    this.snapshots = snapshots;
    this.rows = rows;
    this.clockMs = clockMs;
    this.changes = new RowChanges(reasons, clusterName);
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
        this::taken);
    metrics.gauge(
        "tranche.extender.read.api.stream.waiting.bytes",
        "Data buffered for readers of the read API's stream; bounded.",
        this::waitingBytes);
  }

  private long waitingBytes() {
    Set<Buffer> events = Collections.newSetFromMap(new IdentityHashMap<>());
    readers.forEach(reader -> reader.addWaiting(events));
    return events.stream().mapToLong(Buffer::length).sum();
  }

  private int taken() {
    synchronized (places) {
      return places.values().stream().mapToInt(count -> count).sum();
    }
  }

  /** Takes a place. The result says why there is none; it is empty if there is. */
  private Optional<Problem> takePlace(String owner) {
    synchronized (places) {
      if (taken() >= READERS_MAX) {
        return Optional.of(
            Problem.unavailable(
                "%d readers read the stream; try again later".formatted(READERS_MAX)));
      }
      if (places.getOrDefault(owner, 0) >= READERS_PER_OWNER_MAX) {
        return Optional.of(
            Problem.unavailable(
                "%d readers with this token, or of this address, read the stream; close one of them"
                    .formatted(READERS_PER_OWNER_MAX)));
      }
      places.merge(owner, 1, Integer::sum);
      return Optional.empty();
    }
  }

  private void releasePlace(String owner) {
    synchronized (places) {
      places.computeIfPresent(owner, (same, count) -> count == 1 ? null : count - 1);
    }
  }

  /**
   * Adds a reader, which gets a snapshot and the changes after it. The result says why it cannot
   * join; it is empty if it can.
   */
  public Future<Optional<Problem>> join(StreamReader reader) {
    Optional<Problem> full = takePlace(reader.owner);
    if (full.isPresent()) {
      return Future.succeededFuture(full);
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
            releasePlace(reader.owner);
          }
        });
  }

  private synchronized Optional<Problem> add(StreamReader reader, Snapshot snapshot) {
    if (readers.isEmpty()) {
      changes.next(snapshot);
      snapshotEvent = Optional.empty();
    }
    Buffer event = snapshotEvent();
    if (event.length() > waitingBytesMax) {
      return Optional.of(
          Problem.unavailable(
              "the stream begins with %d bytes, and %d may be kept; page the lists instead, or give the extender more memory"
                  .formatted(event.length(), waitingBytesMax)));
    }
    if (waitingBytes() + event.length() > waitingBytesMax) {
      return Optional.of(
          Problem.unavailable(
              "%d bytes may wait for the stream's readers, and that limit is reached; try again later"
                  .formatted(waitingBytesMax)));
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
      releasePlace(reader.owner);
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
