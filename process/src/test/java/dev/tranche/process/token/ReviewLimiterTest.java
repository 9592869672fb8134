package dev.tranche.process.token;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class ReviewLimiterTest {
  private static final String STRANGER = "10.0.0.1";
  private static final int BURST = 256;
  private final ReviewLimiter limiter = new ReviewLimiter(BURST);

  private long acquired(String address, int calls, long nowMs) {
    return IntStream.range(0, calls).filter(i -> limiter.tryAcquire(address, nowMs)).count();
  }

  @Test
  void tokensThatAreRefused_areReviewedOncePerSecond_afterABurst() {
    assertThat(acquired(STRANGER, 1_000, 0)).isEqualTo(BURST);
    assertThat(acquired(STRANGER, 1_000, 999)).isZero();
    assertThat(acquired(STRANGER, 1_000, 1_000)).isEqualTo(1);
    assertThat(acquired(STRANGER, 1_000, 4_500)).isEqualTo(3);
    assertThat(acquired(STRANGER, 1_000, 5_000)).as("half a second is kept").isEqualTo(1);
    assertThat(acquired("10.0.0.2", 1, 5_000)).isEqualTo(1);
    assertThat(acquired(STRANGER, 1_000, 10_000_000)).isEqualTo(BURST);
  }

  @Test
  void tokensOfNodes_areNotLimited() {
    for (int i = 0; i < 10 * BURST; i++) {
      assertThat(limiter.tryAcquire(STRANGER, 0)).isTrue();
      limiter.accepted(STRANGER);
    }
    assertThat(limiter.addresses()).isZero();
  }

  @Test
  void addresses_areBounded() {
    for (int i = 0; i < 2 * ReviewLimiter.ADDRESSES_MAX; i++) {
      assertThat(limiter.tryAcquire("flood-" + i, 0)).isTrue();
    }
    assertThat(limiter.addresses()).isEqualTo(ReviewLimiter.ADDRESSES_MAX);
  }
}
