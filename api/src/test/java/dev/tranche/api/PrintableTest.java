package dev.tranche.api;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.logging.Level;
import java.util.logging.LogRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PrintableTest {
  @ParameterizedTest
  @ValueSource(strings = {"", "a", "GPU-1 é 中 😀 \"x\" \\ …", "{}%s"})
  void plainText_isShownAsItIs(String text) {
    assertThat(Printable.value(text)).isSameAs(text);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "\n", "\r", "\0", "\u001b", "\u007f", "\u0085", "\u2028", "\u2029", "\u202e", "\u2066",
        "\u200b", "\ufeff", "\ud800", "\udc00", "\ue000"
      })
  void charactersThatForgeALine_areEscaped(String hostile) {
    String shown = Printable.value("a" + hostile + "b");
    assertThat(shown).matches("a\\\\(n|r|u[0-9a-f]{4})b");
  }

  @Test
  void length_isBounded_alsoOfWhatIsEscaped() {
    assertThat(Printable.value("x".repeat(3_000_000))).isEqualTo("x".repeat(48) + "…");
    assertThat(Printable.value("\n".repeat(3_000_000))).isEqualTo("\\n".repeat(24) + "…");
    assertThat(Printable.name("n".repeat(253))).hasSize(253);
    assertThat(Printable.of("a" + "😀".repeat(9), 4)).isEqualTo("a😀…");
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
