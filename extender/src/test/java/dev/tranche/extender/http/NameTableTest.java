package dev.tranche.extender.http;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class NameTableTest {
  private final NameTable table = new NameTable();

  @Test
  void keepsEachNameOnce() {
    String first = of("ip-10-0-0-1");

    assertThat(first).isEqualTo("ip-10-0-0-1");
    assertThat(of("ip-10-0-0-1")).isSameAs(first);
    assertThat(table.name(table.line("x-ip-10-0-0-1-y".toCharArray(), 2, 11))).isSameAs(first);
    assertThat(of("")).isEmpty();
  }

  @Test
  void tellsNamesOfOneHashApart() {
    assertThat("Aa".hashCode()).isEqualTo("BB".hashCode());
    assertThat(of("Aa")).isEqualTo("Aa");
    assertThat(of("BB")).isEqualTo("BB");
    assertThat(of("AaBB")).isEqualTo("AaBB");
    assertThat(of("BBAa")).isEqualTo("BBAa");
    assertThat(of("BB")).isSameAs(of("BB"));
  }

  @Test
  void growsAndBeginsAnewAtItsBound() {
    for (int i = 0; i <= NameTable.NAMES_MAX; i++) {
      assertThat(of("node-" + i)).isEqualTo("node-" + i);
    }
    assertThat(table.size()).isEqualTo(1);
    assertThat(of("node-7")).isEqualTo("node-7");
  }

  @Test
  void doesNotKeepWhatIsNoNodesName() {
    String endless = "n".repeat(NameTable.CHARS_MAX + 1);

    assertThat(table.line(endless.toCharArray(), 0, endless.length())).isNegative();
    assertThat(table.size()).isZero();
  }

  private String of(String name) {
    return table.name(table.line(name.toCharArray(), 0, name.length()));
  }
}
