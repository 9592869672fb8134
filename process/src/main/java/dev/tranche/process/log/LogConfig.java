package dev.tranche.process.log;

import dev.tranche.api.Printable;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.logging.LogManager;

/**
 * Configures the log of every process by two environment variables: {@code LOG_LEVEL} (error, warn,
 * info, debug or trace; for our own classes) and {@code LOG_FORMAT} (text or json). The JVM loads
 * it through {@code java.util.logging.config.class}, so that it applies from the first line on.
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

  /**
   * Returns the configuration as java.util.logging reads it. Reports an unknown value on standard
   * error.
   */
  static String properties(Map<String, String> environment) {
    String level = chosen("LOG_LEVEL", environment, LEVELS, "info");
    String formatter = chosen("LOG_FORMAT", environment, FORMATS, "text");
    // Libraries log every packet at the lower levels, so they stay at info.
    String libraries = level.equals("SEVERE") || level.equals("WARNING") ? level : "INFO";
    return """
        handlers=java.util.logging.ConsoleHandler
        .level=%s
        dev.tranche.level=%s
        java.util.logging.ConsoleHandler.level=ALL
        java.util.logging.ConsoleHandler.formatter=%s
        # "Connection evicted", of each watch that the API server does not open; we say why.
        io.vertx.core.http.impl.HttpClientConnectionInternal.level=SEVERE
        # "Broken pipe", of each peer that has ended; callers reconnect and say why.
        io.vertx.core.net.impl.ConnectionBase.level=OFF
        # A stack trace for each token that could not be reviewed; callers say why, up to a limit.
        com.github.benmanes.caffeine.cache.LocalAsyncCache.level=SEVERE
        """
        .formatted(libraries, level, formatter);
  }

  private static String chosen(
      String variable,
      Map<String, String> environment,
      Map<String, String> known,
      String defaultValue) {
    String value = environment.getOrDefault(variable, "").strip().toLowerCase(Locale.ROOT);
    if (!value.isEmpty() && !known.containsKey(value)) {
      System.err.printf(
          "%s is \"%s\"; allowed: %s; %s is used%n",
          variable,
          Printable.value(value),
          String.join(", ", new TreeSet<>(known.keySet())),
          defaultValue);
    }
    return known.getOrDefault(value, known.getOrDefault(defaultValue, defaultValue));
  }
}
