package dev.tranche.extender.readapi.table;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

final class TextTableTest {
  @Test
  void columns_areAsWideAsTheirWidestCell() {
    var table = new TextTable(List.of("NODE", "GPU", "HEALTH"));
    table.add(List.of("a-long-name", "0", "Healthy"));
    table.add(List.of("b", "10", ""));
    assertThat(table.text())
        .isEqualTo(
            """
            NODE          GPU   HEALTH
            a-long-name   0     Healthy
            b             10    <none>
            """);
  }

  @Test
  void textOfOthers_cannotDriveATerminal() {
    var table = new TextTable(List.of("MODEL"));
    table.add(List.of("\u001b[2J\u009b31m\nTesla"));
    assertThat(table.text()).isEqualTo("MODEL\n\\u001b[2J\\u009b31m\\nTesla\n");
  }

  @Test
  void rowOfAnotherLength_isADefect() {
    assertThatThrownBy(() -> new TextTable(List.of("A")).add(List.of("1", "2")))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
