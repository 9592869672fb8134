package dev.tranche.process.log;

import dev.tranche.process.loop.MonotonicClock;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;

/**
 * Limits the log lines that somebody else can cause, per sender. Lines beyond the limit are
 * counted, and the log says how many there were. Safe for use by several threads.
 */
public final class LineLimiter {
  static final int LINES_MAX = 20;
  static final int PERIOD_S = 60;

  /** As many as nodes can be connected. Senders beyond them share one limit. */
  static final int SENDERS_MAX = 20_000;

  private static final String OTHERS = "others";

  private final Logger log;
  private final String subject;
  private final LongSupplier clockMs;

  /** By sender, the oldest first. */
  private final Map<String, Period> periods = new LinkedHashMap<>();

  private static final class Period {
    private final long endMs;
    private long lines;

    private Period(long endMs) {
      this.endMs = endMs;
    }
  }

  /**
   * @param subject what the lines are about, as in "the streams of node"
   */
  public LineLimiter(Logger log, String subject) {
    this(log, subject, MonotonicClock::ms);
  }

  LineLimiter(Logger log, String subject, LongSupplier clockMs) {
    this.log = log;
    this.subject = subject;
    this.clockMs = clockMs;
  }

  /**
   * Returns whether to log a line of this sender, which is allowed 20 times a minute.
   *
   * @param sender bounded in length and printable, since it is kept and logged
   */
  public synchronized boolean tryAcquire(String sender) {
    endPeriods();
    boolean known = periods.containsKey(sender) || periods.size() < SENDERS_MAX;
    Period period =
        periods.computeIfAbsent(
            known ? sender : OTHERS,
            first -> new Period(clockMs.getAsLong() + TimeUnit.SECONDS.toMillis(PERIOD_S)));
    return ++period.lines <= LINES_MAX;
  }

  /** Ends the minutes that are over, and logs how many lines were left out. */
  synchronized void endPeriods() {
    long nowMs = clockMs.getAsLong();
    var oldest = periods.entrySet().iterator();
    while (oldest.hasNext()) {
      Map.Entry<String, Period> next = oldest.next();
      if (next.getValue().endMs > nowMs) {
        return;
      }
      oldest.remove();
      long leftOut = next.getValue().lines - LINES_MAX;
      if (leftOut > 0) {
        log.warn(
            "suppressed {} lines about {} {}: at most {} are logged in {} s",
            leftOut,
            subject,
            next.getKey(),
            LINES_MAX,
            PERIOD_S);
      }
    }
  }
}
