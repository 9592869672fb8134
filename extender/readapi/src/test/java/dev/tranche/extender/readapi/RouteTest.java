package dev.tranche.extender.readapi;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class RouteTest {
  @Test
  void onePod_isReadByTheRightOfAll() {
    Route route = Route.of("/api/v1/pods/team-a/trainer").orElseThrow();
    assertThat(route).isEqualTo(new Route(Route.Kind.POD, "team-a", "trainer"));
    assertThat(route.nonResourcePath()).isEqualTo("/api/v1/pods");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "/", "/api/v1/", "/api/v1", "/api/v2/gpus", "/api/v1/gpus/", "/api/v1/pods/a"})
  void otherPaths_areNone(String path) {
    assertThat(Route.of(path)).isEmpty();
  }

  @Test
  void rate_isOfEachSecond() {
    var rate = new RateLimit(2);
    assertThat(rate.tryAcquire(1_000)).isTrue();
    assertThat(rate.tryAcquire(1_500)).isTrue();
    assertThat(rate.tryAcquire(1_999)).isFalse();
    assertThat(rate.tryAcquire(2_000)).isTrue();
  }
}
