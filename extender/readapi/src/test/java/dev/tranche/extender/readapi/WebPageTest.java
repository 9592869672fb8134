package dev.tranche.extender.readapi;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class WebPageTest {
  private static final int KB = 1_000;

  @Test
  void page_isSmall() {
    assertThat(
            WebPage.load().files().values().stream()
                .mapToInt(file -> file.gzipped().length())
                .sum())
        .isPositive()
        .isLessThanOrEqualTo(60 * KB);
  }
}
