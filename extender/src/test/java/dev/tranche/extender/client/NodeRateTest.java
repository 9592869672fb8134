package dev.tranche.extender.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.metrics.ExtenderMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.Test;

final class NodeRateTest {
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private long nowMs;
  private final NodeRate rate =
      new NodeRate(
          "labels",
          new NodeRate.Limits(5, 60_000, 8, 1),
          () -> nowMs,
          new ExtenderMetrics(registry));

  @Test
  void node_hasABurst_andThenItsRefill_andTakesNothingFromOthers() {
    assertThat(acquired("a", 100)).isEqualTo(5);
    assertThat(acquired("b", 3)).isEqualTo(3);
    nowMs += 59_999;
    assertThat(acquired("a", 1)).isZero();
    nowMs++;
    assertThat(acquired("a", 2)).isEqualTo(1);
  }

  @Test
  void allNodes_haveABurst_andThenSoManyASecond() {
    int acquired = 0;
    for (int node = 0; node < 1_000; node++) {
      acquired += acquired("n" + node, 1);
    }
    assertThat(acquired).isEqualTo(8);
    nowMs += 2_000;
    assertThat(acquired("x", 1) + acquired("y", 1) + acquired("z", 1)).isEqualTo(2);
  }

  @Test
  void refusals_areCounted_andTakeNothing() {
    acquired("a", 5);
    assertThat(rate.available("a")).isFalse();
    acquired("a", 10);
    assertThat(registry.counter("tranche.extender.node.calls.deferred", "writer", "labels").count())
        .isEqualTo(10);
    nowMs += 60_000;
    assertThat(rate.available("a")).isTrue();
  }

  private int acquired(String node, int attempts) {
    int acquired = 0;
    for (int i = 0; i < attempts; i++) {
      acquired += rate.tryAcquire(node) ? 1 : 0;
    }
    return acquired;
  }
}
