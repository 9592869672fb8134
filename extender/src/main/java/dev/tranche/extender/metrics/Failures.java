package dev.tranche.extender.metrics;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.tranche.extender.snapshot.NodeFailures;
import io.micrometer.core.instrument.Counter;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Unexpected exceptions that end only one part of the work: that of one node, or one of several
 * tasks. Each is counted. Its stack trace is logged once an hour. Safe for use by several threads.
 */
public final class Failures implements NodeFailures {
  /** Limit of exceptions that are remembered as logged. */
  static final int LOGGED_MAX = 1_000;

  private static final Logger LOG = LoggerFactory.getLogger(Failures.class);

  private final Map<Part, Counter> counters = new EnumMap<>(Part.class);
  private final Cache<String, Boolean> logged =
      Caffeine.newBuilder()
          .maximumSize(LOGGED_MAX)
          .expireAfterWrite(Duration.ofHours(1))
          .executor(Runnable::run)
          .build();

  /** What has failed. */
  public enum Part {
    /** The work on one node; all others go on. */
    NODE,
    /** One of the tasks of a timer; the others go on. */
    TASK
  }

  public Failures(ExtenderMetrics metrics) {
    for (Part part : Part.values()) {
      counters.put(
          part,
          metrics.counter(
              "tranche.extender.failures",
              "Unexpected errors that ended the work on one node, or one task; the rest went on.",
              "part",
              part.name().toLowerCase(Locale.ROOT)));
    }
  }

  @Override
  public void failed(String node, Throwable bug) {
    failed(Part.NODE, "node " + node, bug);
  }

  /** Runs the work on one node. An exception ends only that. */
  public void onNode(String node, Runnable work) {
    run(Part.NODE, "node " + node, work);
  }

  /** Runs a task. An exception ends only that. */
  public void task(String name, Runnable work) {
    run(Part.TASK, "task " + name, work);
  }

  private void run(Part part, String what, Runnable work) {
    try {
      work.run();
    } catch (RuntimeException bug) {
      failed(part, what, bug);
    }
  }

  private void failed(Part part, String what, Throwable bug) {
    Objects.requireNonNull(counters.get(part)).increment();
    StackTraceElement[] trace = bug.getStackTrace();
    String place = trace.length == 0 ? "" : trace[0].toString();
    String key = what + " " + bug.getClass().getName() + " " + place;
    if (logged.asMap().putIfAbsent(key, true) == null) {
      LOG.error("{} is left out because of a bug; all others go on", what, bug);
    }
  }
}
