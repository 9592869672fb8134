package dev.tranche.process.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import org.junit.jupiter.api.Test;

class LogConfigTest {
  private static LogRecord logged(Level level, String message) {
    var logged = new LogRecord(level, message);
    logged.setLoggerName("dev.tranche.X");
    logged.setInstant(Instant.parse("2026-01-02T03:04:05.678Z"));
    return logged;
  }

  @Test
  void level_isOfOurClasses_andLibrariesTellNoMoreThanUsual() {
    assertThat(LogConfig.properties(Map.of())).contains("\ndev.tranche.level=INFO\n");
    assertThat(LogConfig.properties(Map.of("LOG_LEVEL", "debug")))
        .contains("\n.level=INFO\n", "\ndev.tranche.level=FINE\n");
    assertThat(LogConfig.properties(Map.of("LOG_LEVEL", "Error")))
        .contains("\n.level=SEVERE\n", "\ndev.tranche.level=SEVERE\n");
    assertThat(LogConfig.properties(Map.of("LOG_LEVEL", "loud", "LOG_FORMAT", "xml")))
        .isEqualTo(LogConfig.properties(Map.of()));
  }

  @Test
  void text_hasTheTimeInUtc_andUsualLevels() {
    assertThat(new LogFormatter().format(logged(Level.SEVERE, "a")))
        .isEqualTo("2026-01-02T03:04:05.678Z ERROR dev.tranche.X: a\n");
    assertThat(new LogFormatter().format(logged(Level.WARNING, "a"))).contains("Z WARN dev");
    assertThat(new LogFormatter().format(logged(Level.FINE, "a"))).contains("Z DEBUG dev");
  }

  @Test
  void json_isOneObjectInOneLine_whateverIsInIt() {
    assertThat(LogConfig.properties(Map.of("LOG_FORMAT", "json")))
        .contains("formatter=dev.tranche.process.log.JsonLogFormatter\n");
    LogRecord hostile = logged(Level.INFO, "pod \"a\\\"\n{\"level\":\"ERROR\"}\u2028");
    hostile.setThrown(new IllegalStateException("b\n\"c\""));
    String line = new JsonLogFormatter().format(hostile);
    assertThat(line.lines()).hasSize(1);
    assertThat(line)
        .startsWith("{\"time\":\"2026-01-02T03:04:05.678Z\",\"level\":\"INFO\",")
        .contains("\"message\":\"pod \\\"a\\\\\\\"\\\\n{", "IllegalStateException: b")
        .endsWith("\"}\n");
  }

  @Test
  void record_isOneLine_andItsTraceBeginsWithTabs() {
    var logged = new LogRecord(Level.INFO, "pod a\n2026-01-01T00:00:00.000 ERROR forged");
    logged.setLoggerName("dev.tranche.X");
    logged.setThrown(new IllegalStateException("b\nforged", new RuntimeException("c\u2028forged")));
    String[] lines = new LogFormatter().format(logged).split("\\R");
    assertThat(lines[0])
        .endsWith("INFO dev.tranche.X: pod a\\n2026-01-01T00:00:00.000 ERROR forged");
    assertThat(lines).hasSizeGreaterThan(3);
    assertThat(lines).filteredOn(line -> !line.startsWith("\t")).hasSize(1);
  }
}
