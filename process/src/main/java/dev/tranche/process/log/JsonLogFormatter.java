package dev.tranche.process.log;

import dev.tranche.api.Printable;
import java.util.logging.Formatter;
import java.util.logging.LogRecord;

/** One JSON object in one line for each record: time, level, logger, message, exception. */
public final class JsonLogFormatter extends Formatter {
  private static final int TRACE_CHARS_MAX = 16_384;

  @Override
  public String format(LogRecord logged) {
    var line = new StringBuilder(256);
    line.append("{\"time\":\"").append(LogFormatter.TIME.format(logged.getInstant()));
    line.append("\",\"level\":\"").append(LogFormatter.level(logged.getLevel()));
    line.append("\",\"logger\":\"").append(quoted(String.valueOf(logged.getLoggerName()), 253));
    line.append("\",\"message\":\"");
    line.append(quoted(String.valueOf(formatMessage(logged)), LogFormatter.MESSAGE_CHARS_MAX));
    if (logged.getThrown() != null) {
      String trace = LogFormatter.trace(logged.getThrown());
      line.append("\",\"exception\":\"").append(quoted(trace, TRACE_CHARS_MAX));
    }
    return line.append("\"}\n").toString();
  }

  /**
   * Escapes quotes and backslashes for JSON. {@link Printable} escapes line breaks and other
   * control characters, as in the text format.
   */
  private static String quoted(String text, int charsMax) {
    return Printable.of(text, charsMax).replace("\\", "\\\\").replace("\"", "\\\"");
  }
}
