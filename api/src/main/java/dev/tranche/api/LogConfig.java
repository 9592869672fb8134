package dev.tranche.api;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.logging.LogManager;

/**
 * What the log of every part is like, by two variables of the environment: {@code LOG_LEVEL}
 * (error, warn, info, debug or trace; of our own classes) and {@code LOG_FORMAT} (text or json).
 * Named to the JVM as {@code java.util.logging.config.class}, so that it holds from the first line
 * on.
 */
public final class LogConfig {
  private static final Map<String, String> LEVELS =
      Map.of(
          "error", "SEVERE", "warn", "WARNING", "info", "INFO", "debug", "FINE", "trace", "FINEST");

  private static final Map<String, String> FORMATS =
      Map.of("text", LogFormatter.class.getName(), "json", JsonLogFormatter.class.getName());

  public LogConfig() throws IOException {
    String text = properties(System.getenv());
    LogManager.getLogManager()
        .readConfiguration(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
  }

  /** As java.util.logging reads it. An unknown value is told on standard error. */
  static String properties(Map<String, String> environment) {
    String level = chosen("LOG_LEVEL", environment, LEVELS, "info");
    String formatter = chosen("LOG_FORMAT", environment, FORMATS, "text");
    // Libraries tell every packet at the lower levels, so they stay at info.
    String libraries = level.equals("SEVERE") || level.equals("WARNING") ? level : "INFO";
    return """
        handlers=java.util.logging.ConsoleHandler
        .level=%s
        dev.tranche.level=%s
        java.util.logging.ConsoleHandler.level=ALL
        java.util.logging.ConsoleHandler.formatter=%s
        # "Connection evicted", of each watch that the API server does not open; we say why.
        io.vertx.core.http.impl.HttpClientConnectionInternal.level=SEVERE
        """
        .formatted(libraries, level, formatter);
  }

  private static String chosen(
      String variable, Map<String, String> environment, Map<String, String> known, String usual) {
    String asked = environment.getOrDefault(variable, "").strip().toLowerCase(Locale.ROOT);
    if (!asked.isEmpty() && !known.containsKey(asked)) {
      System.err.printf(
          "%s is \"%s\", which is none of %s; %s is used%n",
          variable, Printable.value(asked), known.keySet().stream().sorted().toList(), usual);
    }
    return known.getOrDefault(asked, known.getOrDefault(usual, usual));
  }
}
