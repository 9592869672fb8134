package dev.tranche.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class TokenBucketsTest {
  private static final String STRANGER = "10.0.0.1";
  private static final int BURST = 256;
  private long nowMs;
  private final TokenBuckets buckets = new TokenBuckets(BURST, 1, () -> nowMs);

  private long acquired(String address, int calls, long atMs) {
    nowMs = atMs;
    return IntStream.range(0, calls).filter(i -> buckets.of(address).tryAcquire()).count();
  }

  @Test
  void address_hasABurst_andThenItsRate_andTakesNothingFromOthers() {
    assertThat(acquired(STRANGER, 1_000, 0)).isEqualTo(BURST);
    assertThat(acquired(STRANGER, 1_000, 999)).isZero();
    assertThat(acquired(STRANGER, 1_000, 1_000)).isEqualTo(1);
    assertThat(acquired(STRANGER, 1_000, 4_500)).isEqualTo(3);
    assertThat(acquired(STRANGER, 1_000, 5_000)).as("half a second is kept").isEqualTo(1);
    assertThat(acquired("10.0.0.2", 1, 5_000)).isEqualTo(1);
    assertThat(acquired(STRANGER, 1_000, 10_000_000)).isEqualTo(BURST);
  }

  @Test
  void whatIsGivenBack_isNotLimited() {
    for (int i = 0; i < 10 * BURST; i++) {
      assertThat(buckets.of(STRANGER).tryAcquire()).isTrue();
      buckets.of(STRANGER).giveBack();
    }
  }

  /** A bucket in debt is not forgotten for a new one. */
  @Test
  void debt_isPaidOffFirst() {
    buckets.of(STRANGER).take(BURST + 30);
    assertThat(buckets.of(STRANGER).debtMs()).isEqualTo(30_000);
    assertThat(acquired(STRANGER, 1_000, 30_999)).isZero();
    assertThat(acquired(STRANGER, 1_000, 31_500)).isEqualTo(1);
  }

  /** Anybody may call from many addresses. Those in debt are not forgotten by themselves. */
  @Test
  void addresses_areBounded() {
    for (int i = 0; i < 50_000; i++) {
      buckets.of("address " + i).take(BURST + 1);
    }
    assertThat(buckets.of("address 49999").debtMs()).isPositive();
    assertThat(buckets.of("address 0").debtMs()).isZero();
  }
}
