package dev.tranche.process.log;

import dev.tranche.api.Printable;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.logging.Formatter;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import org.jspecify.annotations.Nullable;

/**
 * Formats each record as one line, whatever foreign text it contains. A stack trace follows in
 * lines that begin with a tab. All processes log through it, so no caller has to remember to
 * escape.
 */
public final class LogFormatter extends Formatter {
  /** Enough for our longest line, which shows a whole configuration. */
  static final int MESSAGE_CHARS_MAX = 8_192;

  private static final int CAUSES_MAX = 8;
  private static final int FRAMES_MAX = 64;
  static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC);

  @Override
  public String format(LogRecord logged) {
    var line =
        new StringBuilder(160)
            .append(TIME.format(logged.getInstant()))
            .append(' ')
            .append(level(logged.getLevel()))
            .append(' ')
            .append(logged.getLoggerName())
            .append(": ")
            .append(Printable.of(String.valueOf(formatMessage(logged)), MESSAGE_CHARS_MAX))
            .append('\n');
    append(logged.getThrown(), line);
    return line.toString();
  }

  /** Returns the level's name as other programs of a cluster write it. */
  static String level(Level level) {
    int value = level.intValue();
    if (value >= Level.SEVERE.intValue()) {
      return "ERROR";
    }
    if (value >= Level.WARNING.intValue()) {
      return "WARN";
    }
    if (value >= Level.INFO.intValue()) {
      return "INFO";
    }
    return value >= Level.FINE.intValue() ? "DEBUG" : "TRACE";
  }

  private static void append(@Nullable Throwable thrown, StringBuilder to) {
    Throwable cause = thrown;
    for (int i = 0; cause != null && i < CAUSES_MAX; i++) {
      to.append(i == 0 ? "\t" : "\tCaused by: ")
          .append(Printable.of(String.valueOf(cause), MESSAGE_CHARS_MAX))
          .append('\n');
      StackTraceElement[] frames = cause.getStackTrace();
      for (int f = 0; f < Math.min(frames.length, FRAMES_MAX); f++) {
        to.append("\t\tat ").append(frames[f]).append('\n');
      }
      cause = cause.getCause();
    }
  }
}
