package dev.tranche.extender.stream;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class RefusalLogLimiterTest {
  private final RefusalLogLimiter callers = new RefusalLogLimiter();

  @Test
  void aRefusal_isLoggedOnceInTenSeconds_perAddress() {
    assertThat(callers.tryAcquire("a", 0)).isTrue();
    assertThat(callers.tryAcquire("a", 9_999)).isFalse();
    assertThat(callers.tryAcquire("b", 9_999)).isTrue();
    assertThat(callers.tryAcquire("a", 10_000)).isTrue();
  }

  @Test
  void addresses_areForgottenRatherThanHeapedUp() {
    for (int i = 0; i < 1_024; i++) {
      assertThat(callers.tryAcquire("flood-" + i, 0)).isTrue();
    }
    assertThat(callers.tryAcquire("one more", 1)).isFalse();
    assertThat(callers.tryAcquire("one more", 10_000)).isTrue();
  }
}
