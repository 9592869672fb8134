package dev.tranche.process.meters;

import dev.tranche.process.loop.MonotonicClock;
import io.micrometer.core.instrument.Counter;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Unexpected exceptions that end only one part of the work, such as that of one node, or one of
 * several tasks. Each is counted. Its stack trace is logged once an hour. While too many are
 * remembered, further ones are only counted. Safe for use by several threads.
 */
public final class Failures {
  /** The work on one node; all others go on. */
  public static final String NODE = "node";

  /** The work on one GPU or MIG device; all others go on. */
  public static final String GPU = "gpu";

  /** One of several tasks; the others go on. */
  public static final String TASK = "task";

  /** Limit of exceptions that are remembered as logged. */
  static final int LOGGED_MAX = 1_000;

  private static final long LOGGED_FOR_MS = TimeUnit.HOURS.toMillis(1);
  private final Map<String, Counter> counters;
  private final Logger log;
  private final LongSupplier clockMs;

  /** When each was logged, the oldest first. */
  private final Map<String, Long> logged = new LinkedHashMap<>();

  private volatile boolean stopping;

  /**
   * @param parts of the work that may fail
   */
  public Failures(Meters meters, String help, String... parts) {
    this(
        part -> meters.counter(meters.name("failures"), help, "part", part),
        LoggerFactory.getLogger(Failures.class),
        MonotonicClock::ms,
        parts);
  }

  Failures(Function<String, Counter> counter, Logger log, LongSupplier clockMs, String... parts) {
    this.log = log;
    this.clockMs = clockMs;
    this.counters = Arrays.stream(parts).collect(Collectors.toMap(part -> part, counter));
  }

  /** Runs the work on one node. An exception ends only that. */
  public void onNode(String node, Runnable work) {
    run(work, bug -> nodeFailed(node, bug));
  }

  /** Runs a task. An exception ends only that. */
  public void task(String name, Runnable work) {
    run(work, bug -> failed(TASK, name, bug));
  }

  private static void run(Runnable work, Consumer<RuntimeException> onBug) {
    try {
      work.run();
    } catch (RuntimeException bug) {
      onBug.accept(bug);
    }
  }

  public void nodeFailed(String node, Throwable bug) {
    failed(NODE, "node " + node, bug);
  }

  /**
   * Says that the process ends. From then on it is no bug that an executor accepts no more work.
   */
  public void stopping() {
    stopping = true;
  }

  public void failed(String part, String what, Throwable bug) {
    if (stopping && bug instanceof RejectedExecutionException) {
      return;
    }
    Objects.requireNonNull(counters.get(part)).increment();
    StackTraceElement[] trace = bug.getStackTrace();
    String place = trace.length == 0 ? "" : trace[0].toString();
    log(what, what + " " + bug.getClass().getName() + " " + place, bug);
  }

  private synchronized void log(String what, String key, Throwable bug) {
    long nowMs = clockMs.getAsLong();
    logged.values().removeIf(atMs -> nowMs - atMs >= LOGGED_FOR_MS);
    if (logged.size() < LOGGED_MAX && logged.putIfAbsent(key, nowMs) == null) {
      log.error("{} is left out because of a bug; all others go on", what, bug);
    }
  }
}
