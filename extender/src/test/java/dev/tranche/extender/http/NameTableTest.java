package dev.tranche.extender.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

class NameTableTest {
  private final NameTable table = new NameTable();

  @Test
  void keepsEachNameOnce() {
    String first = of("ip-10-0-0-1");

    assertThat(first).isEqualTo("ip-10-0-0-1");
    assertThat(of("ip-10-0-0-1")).isSameAs(first);
    byte[] between = "x-ip-10-0-0-1\"-y".getBytes(US_ASCII);
    assertThat(table.name(table.line(between, 2, between.length))).isSameAs(first);
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
    String endless = "n".repeat(NameTable.BYTES_MAX + 1);

    for (String name : List.of(endless, "a\\nb", "a b", "h\u00f6lle", "a\tb")) {
      assertThat(line(name)).isEqualTo(NameTable.NONE);
    }
    assertThat(table.line("unended".getBytes(US_ASCII), 0, 7)).isEqualTo(NameTable.NONE);
    assertThat(table.size()).isZero();
  }

  private String of(String name) {
    return table.name(line(name));
  }

  private int line(String name) {
    byte[] quoted = (name + '"').getBytes(StandardCharsets.UTF_8);
    return table.line(quoted, 0, quoted.length);
  }
}
