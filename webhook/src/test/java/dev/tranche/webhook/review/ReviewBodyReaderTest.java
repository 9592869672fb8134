package dev.tranche.webhook.review;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How much room a body gets while it comes. */
class ReviewBodyReaderTest {
  @Test
  void bodyThatComesAtOnce_getsItsBytes() {
    assertThat(ReviewBodyReader.capacity(12_345, 12_345)).isEqualTo(12_345);
  }

  @Test
  void announcement_isBelievedForAsMuchAgainAsHasCome() {
    assertThat(ReviewBodyReader.capacity(1, 65_536)).isEqualTo(2);
    assertThat(ReviewBodyReader.capacity(16_384, 65_536)).isEqualTo(32_768);
    assertThat(ReviewBodyReader.capacity(40_000, 65_536)).isEqualTo(65_536);
    assertThat(ReviewBodyReader.capacity(1, Long.MAX_VALUE)).isEqualTo(2);
  }

  /** In proportion to the logarithm of its size: each enlargement copies all that has come. */
  @ParameterizedTest
  @ValueSource(longs = {0, 3 << 19, Long.MAX_VALUE})
  void bodyInSmallParts_isEnlargedAFewTimes(long announcedBytes) {
    int capacity = 0;
    int enlarged = 0;
    for (int bytes = 1_024; bytes <= ReviewBodyReader.BODY_BYTES_MAX; bytes += 1_024) {
      if (bytes > capacity) {
        capacity = ReviewBodyReader.capacity(bytes, announcedBytes);
        enlarged++;
      }
    }
    assertThat(enlarged).isLessThan(15);
    assertThat(capacity).isBetween(3 << 19, 3 << 20);
  }
}
