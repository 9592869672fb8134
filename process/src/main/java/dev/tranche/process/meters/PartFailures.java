package dev.tranche.process.meters;

import io.micrometer.core.instrument.Counter;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Unexpected exceptions that end only one part of the work, such as that of one node, one GPU, or
 * one of several tasks. Each is counted. Its stack trace is logged once an hour. While too many are
 * remembered, further ones are only counted. Safe for use by several threads.
 *
 * @param <P> the kinds of parts
 */
public class PartFailures<P extends Enum<P>> {
  /** Limit of exceptions that are remembered as logged. */
  static final int LOGGED_MAX = 1_000;

  private static final long LOGGED_FOR_MS = TimeUnit.HOURS.toMillis(1);
  private final String metric;
  private final Map<P, Counter> counters;
  private final Logger log;
  private final LongSupplier clockMs;

  /** When each was logged, the oldest first. */
  private final Map<String, Long> logged = new LinkedHashMap<>();

  private long othersLoggedUntilMs = Long.MIN_VALUE;
  private volatile boolean stopping;

  private enum Line {
    TRACE,
    OTHERS,
    NONE
  }

  /**
   * @param name of the metric
   */
  public PartFailures(Meters meters, String name, String help, Class<P> parts) {
    this(
        meters,
        name,
        help,
        parts,
        LoggerFactory.getLogger(PartFailures.class),
        () -> TimeUnit.NANOSECONDS.toMillis(System.nanoTime()));
  }

  PartFailures(
      Meters meters, String name, String help, Class<P> parts, Logger log, LongSupplier clockMs) {
    this.metric = name.replace('.', '_') + "_total";
    this.log = log;
    this.clockMs = clockMs;
    this.counters =
        Meters.each(
            parts,
            part -> meters.counter(name, help, "part", part.name().toLowerCase(Locale.ROOT)));
  }

  /** Runs the work on one part. An exception ends only that. */
  public final void run(P part, String what, Runnable work) {
    try {
      work.run();
    } catch (RuntimeException bug) {
      failed(part, what, bug);
    }
  }

  /**
   * Says that the process ends. From then on it is no bug that an executor accepts no more work.
   */
  public final void stopping() {
    stopping = true;
  }

  public final void failed(P part, String what, Throwable bug) {
    if (stopping && bug instanceof RejectedExecutionException) {
      return;
    }
    Objects.requireNonNull(counters.get(part)).increment();
    StackTraceElement[] trace = bug.getStackTrace();
    String place = trace.length == 0 ? "" : trace[0].toString();
    switch (line(what + " " + bug.getClass().getName() + " " + place)) {
      case TRACE -> log.error("{} is left out because of a bug; all others go on", what, bug);
      case OTHERS ->
          log.error(
              "{} counts others that are left out because of bugs; {} were logged within an hour",
              metric,
              LOGGED_MAX);
      case NONE -> {}
    }
  }

  private synchronized Line line(String key) {
    long nowMs = clockMs.getAsLong();
    logged.values().removeIf(atMs -> nowMs - atMs >= LOGGED_FOR_MS);
    if (logged.containsKey(key)) {
      return Line.NONE;
    }
    if (logged.size() < LOGGED_MAX) {
      logged.put(key, nowMs);
      return Line.TRACE;
    }
    if (nowMs < othersLoggedUntilMs) {
      return Line.NONE;
    }
    othersLoggedUntilMs = nowMs + LOGGED_FOR_MS;
    return Line.OTHERS;
  }
}
