package dev.tranche.e2e.release;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class ReleaseNotesTest {
  private static final String CHANGELOG =
      """
      # Changelog

      ## 1.10.0 (not released)

      - Newest.

      ## 1.1.0

      ### Fixed

      - Old.

      ## 1.0.0

      """;

  @Test
  void notes_areThoseOfTheVersion() {
    assertThat(ReleaseNotes.of("1.10.0", CHANGELOG)).isEqualTo("- Newest.\n");
    assertThat(ReleaseNotes.of("1.1.0", CHANGELOG)).isEqualTo("### Fixed\n\n- Old.\n");
  }

  @Test
  void versionWithoutNotes_isNotReleased() {
    assertThatThrownBy(() -> ReleaseNotes.of("1.0.0", CHANGELOG))
        .hasMessage("CHANGELOG.md says nothing of 1.0.0; write it under \"## 1.0.0\"");
    assertThatThrownBy(() -> ReleaseNotes.of("1.1", CHANGELOG))
        .hasMessageContaining("says nothing of 1.1;");
  }
}
