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
 * Server-sent events: one picture of all rows, then what changes, once a second. A change is worked
 * out and written once for all readers, on a worker; the loop that decides only says what it knows.
 * While nobody reads, nothing is done.
 */
public final class EventStream {
  public static final int READERS_MAX = 64;
  static final long PERIOD_MS = 1_000;

  /** A picture is about 1 MiB for 1,000 GPUs. */
  static final int PICTURE_BYTES_MAX = 64 << 20;

  /** What waits for all readers together. */
  static final long WAITING_BYTES_MAX = 256L << 20;

  private static final Logger LOG = LoggerFactory.getLogger(EventStream.class);

  private final Vertx vertx;
  private final Supplier<Future<Inspection>> pictures;
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
  private Optional<Buffer> whole = Optional.empty();

  /**
   * @param pictures one a second at most
   * @param rows of a picture, worked out on a worker
   */
  public EventStream(
      Vertx vertx,
      Supplier<Future<Inspection>> pictures,
      Function<Inspection, Snapshot> rows,
      WaitingReasons reasons,
      LongSupplier clockMs,
      ExtenderMetrics metrics) {
    this.vertx = vertx;
    this.pictures = pictures;
    this.rows = rows;
    this.clockMs = clockMs;
    this.changes = new RowChanges(new PodJson(reasons), new SummaryJson(reasons));
    this.dropped =
        metrics.counter(
            "tranche.extender.read.api.stream.dropped",
            "Readers of the read API's stream that took too little of it and were dropped.");
    this.events =
        metrics.counter(
            "tranche.extender.read.api.stream.events",
            "Events of the read API's stream, each made once for all who read.");
    metrics.gauge(
        "tranche.extender.read.api.stream.readers",
        "Who reads the read API's stream; bounded.",
        () -> READERS_MAX - places.availablePermits());
    metrics.gauge(
        "tranche.extender.read.api.stream.waiting.bytes",
        "What waits until readers of the read API's stream take it; bounded.",
        this::waitingBytes);
  }

  private long waitingBytes() {
    return readers.stream().mapToLong(StreamReader::waitingBytes).sum();
  }

  /** Why nobody can join, if nobody can; else the reader gets a picture and what comes after. */
  public Future<Optional<Problem>> join(StreamReader reader) {
    if (!places.tryAcquire()) {
      return Future.succeededFuture(
          Optional.of(
              Problem.unavailable(
                  "%d readers read the stream; try again later".formatted(READERS_MAX))));
    }
    Future<Optional<Problem>> joined =
        pictures
            .get()
            .compose(
                picture -> vertx.executeBlocking(() -> joined(reader, rows.apply(picture)), false));
    return joined.onComplete(
        result -> {
          if (result.failed() || result.result().isPresent()) {
            places.release();
          }
        });
  }

  private synchronized Optional<Problem> joined(StreamReader reader, Snapshot picture) {
    if (readers.isEmpty()) {
      changes.next(picture);
      whole = Optional.empty();
    }
    Buffer event = whole();
    if (event.length() > PICTURE_BYTES_MAX) {
      return Optional.of(
          Problem.unavailable(
              "the cluster has more than the %d MiB that the stream begins with; page the lists instead"
                  .formatted(PICTURE_BYTES_MAX >> 20)));
    }
    if (waitingBytes() + event.length() > WAITING_BYTES_MAX) {
      return Optional.of(
          Problem.unavailable(
              "%d MiB wait for the stream's readers; try again later"
                  .formatted(WAITING_BYTES_MAX >> 20)));
    }
    readers.add(reader);
    reader.begin(event, clockMs.getAsLong(), () -> left(reader));
    if (timer < 0) {
      timer = vertx.setPeriodic(PERIOD_MS, due -> tick());
    }
    return Optional.empty();
  }

  /** On any thread; once for each reader. */
  private void left(StreamReader reader) {
    if (readers.remove(reader)) {
      places.release();
    }
  }

  private void tick() {
    if (!busy.compareAndSet(false, true)) {
      return;
    }
    pictures
        .get()
        .transform(picture -> vertx.executeBlocking(() -> ticked(picture), false))
        .onFailure(failure -> LOG.error("the stream's readers were told nothing", failure))
        .onComplete(over -> busy.set(false));
  }

  /** Readers are looked after even where no picture can be taken. */
  private boolean ticked(AsyncResult<Inspection> picture) {
    if (picture.succeeded()) {
      told(picture.result());
    } else {
      LOG.warn("the stream's readers are told nothing new: {}", picture.cause().toString());
    }
    long nowMs = clockMs.getAsLong();
    readers.forEach(reader -> checked(reader, nowMs));
    return true;
  }

  private void checked(StreamReader reader, long nowMs) {
    if (reader.isTooSlow(nowMs)) {
      dropped.increment();
      reader.drop();
    } else {
      reader.checked(nowMs);
    }
  }

  private synchronized void told(Inspection picture) {
    if (readers.isEmpty()) {
      vertx.cancelTimer(timer);
      timer = -1;
      whole = Optional.empty();
      changes.forget();
      return;
    }
    switch (changes.next(rows.apply(picture))) {
      case Change.None() -> {}
      case Change.Whole() -> {
        whole = Optional.empty();
        tell(whole());
      }
      case Change.Some(Buffer json) -> {
        whole = Optional.empty();
        tell(event("change", json));
      }
    }
  }

  private void tell(Buffer event) {
    long nowMs = clockMs.getAsLong();
    List.copyOf(readers).forEach(reader -> reader.send(event, nowMs));
  }

  /** The same for all who join before the next change. */
  private Buffer whole() {
    Buffer known = whole.orElseGet(() -> event("snapshot", changes.whole()));
    whole = Optional.of(known);
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
