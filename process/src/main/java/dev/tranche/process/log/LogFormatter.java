package dev.tranche.process.log;

import dev.tranche.api.Printable;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.logging.Formatter;
import java.util.logging.Level;
import java.util.logging.LogRecord;

/**
 * Formats each record as one line, whatever foreign text it contains. A stack trace follows in
 * lines that begin with a tab. All processes log through it, so no caller has to remember to
 * escape.
 */
public final class LogFormatter extends Formatter {
  /** Enough for our longest line, which shows a whole configuration. */
  static final int MESSAGE_CHARS_MAX = 8_192;

  private static final int TRACE_LINES_MAX = 256;
  static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC);

  @Override
  public String format(LogRecord logged) {
    String head = TIME.format(logged.getInstant()) + " " + level(logged.getLevel());
    String message = Printable.of(String.valueOf(formatMessage(logged)), MESSAGE_CHARS_MAX);
    var line = new StringBuilder(head + " " + logged.getLoggerName() + ": " + message + "\n");
    if (logged.getThrown() != null) {
      trace(logged.getThrown())
          .lines()
          .limit(TRACE_LINES_MAX)
          .forEach(each -> line.append('\t').append(Printable.message(each.strip())).append('\n'));
    }
    return line.toString();
  }

  static String trace(Throwable thrown) {
    var trace = new StringWriter();
    thrown.printStackTrace(new PrintWriter(trace));
    return trace.toString();
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
}
