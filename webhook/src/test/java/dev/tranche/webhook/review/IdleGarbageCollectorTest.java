package dev.tranche.webhook.review;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class IdleGarbageCollectorTest {
  private final AtomicInteger collections = new AtomicInteger();
  private final IdleGarbageCollector collector =
      new IdleGarbageCollector(collections::incrementAndGet);

  @Test
  void burstThatIsOver_isCleanedUpAfter_once() {
    burst(1_000, 10_000);
    collector.sweep(13_999);
    assertThat(collections).hasValue(0);
    collector.sweep(14_000);
    collector.sweep(30_000);
    assertThat(collections).hasValue(1);
    burst(1_000, 40_000);
    collector.sweep(44_000);
    assertThat(collections).hasValue(2);
  }

  @Test
  void fewReviews_leaveNothingToCleanUp() {
    burst(999, 10_000);
    collector.sweep(60_000);
    assertThat(collections).hasValue(0);
  }

  @Test
  void reviewsThatGoOn_areNotStopped() {
    burst(5_000, 10_000);
    for (long nowMs = 10_000; nowMs < 60_000; nowMs += 3_000) {
      collector.recordReview(nowMs);
      collector.sweep(nowMs + 2_999);
    }
    assertThat(collections).hasValue(0);
  }

  private void burst(int reviews, long atMs) {
    for (int i = 0; i < reviews; i++) {
      collector.recordReview(atMs);
    }
  }
}
