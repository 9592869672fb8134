package dev.tranche.extender.readapi.table;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

final class TextTableTest {
  @Test
  void columns_areAsWideAsTheirWidestCell() {
    assertThat(
            TextTable.of(
                List.of("NODE", "GPU", "HEALTH"),
                List.of(List.of("a-long-name", "0", "Healthy"), List.of("b", "10", ""))))
        .isEqualTo(
            """
            NODE          GPU   HEALTH
            a-long-name   0     Healthy
            b             10    <none>
            """);
  }

  @Test
  void textOfOthers_cannotDriveATerminal() {
    assertThat(TextTable.of(List.of("MODEL"), List.of(List.of("\u001b[2J\u009b31m\nTesla"))))
        .isEqualTo("MODEL\n\\u001b[2J\\u009b31m\\nTesla\n");
  }
}
