package dev.tranche.e2e.install;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class ShellIT {
  @Test
  void output_ofAProgramThatTellsItsProgress_isWhatItPrints() throws Exception {
    assertThat(Shell.output("echo downloading >&2; echo kind: Pod")).isEqualTo("kind: Pod\n");
  }

  @Test
  void output_ofAProgramThatFails_isAFailureThatSaysWhy() {
    assertThatThrownBy(() -> Shell.output("echo no route to host >&2; exit 3"))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("no route to host");
  }
}
