package dev.tranche.api;

import static org.assertj.core.api.Assertions.assertThat;

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
  void charactersBeyondTheFirstPlane_haveBraces() {
    assertThat(Printable.value("\udb40\udc41")).isEqualTo("\\u{e0041}");
  }

  @Test
  void length_isBounded_alsoOfWhatIsEscaped() {
    assertThat(Printable.value("x".repeat(3_000_000))).isEqualTo("x".repeat(48) + "…");
    assertThat(Printable.value("\n".repeat(3_000_000))).isEqualTo("\\n".repeat(24) + "…");
    assertThat(Printable.name("n".repeat(253))).hasSize(253);
    assertThat(Printable.of("a" + "😀".repeat(9), 4)).isEqualTo("a😀…");
  }
}
