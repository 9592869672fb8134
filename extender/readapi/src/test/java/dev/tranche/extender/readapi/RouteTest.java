package dev.tranche.extender.readapi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.readapi.access.Access;
import dev.tranche.extender.readapi.access.Right;
import dev.tranche.extender.readapi.row.View;
import dev.tranche.extender.readapi.table.KubernetesObjects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class RouteTest {
  private static final String TEAM_A = Access.NAMESPACES + "/team-a/";

  @Test
  void onePod_isReadByTheRightOfAll() {
    Route route = Route.of("/api/v1/pods/team-a/trainer").orElseThrow();
    assertThat(route).isEqualTo(new Route(Route.Kind.POD, View.ALL, "team-a", "trainer"));
    assertThat(route.rights()).containsExactly(Access.toPath("get", "/api/v1/pods"));
  }

  /** The right that Prometheus's account has elsewhere, and no other. */
  @Test
  void metrics_needTheRightToGetThem() {
    Route route = Route.of("/metrics").orElseThrow();
    assertThat(route.rights()).containsExactly(new Right.NonResource("get", "/metrics"));
    assertThat(Route.of("/api/v1/metrics")).isEmpty();
    assertThat(Route.of(TEAM_A + "metrics")).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "/", "/api/v1/", "/api/v1", "/api/v2/gpus", "/api/v1/gpus/", "/api/v1/pods/a"})
  void otherPaths_areNone(String path) {
    assertThat(Route.of(path)).isEmpty();
  }

  @Test
  void groupOfThePaths_isThatOfTheObjects() {
    assertThat(Access.NAMESPACES)
        .isEqualTo("/apis/" + KubernetesObjects.GROUP_VERSION + "/namespaces");
  }

  @ParameterizedTest
  @CsvSource({"gpus", "pods", "summary", "history"})
  void listOfANamespace_needsGetAndList(String what) {
    Route route = Route.of(TEAM_A + what).orElseThrow();
    assertThat(route.view()).isEqualTo(View.of("team-a"));
    assertThat(route.rights())
        .containsExactly(new Right.Pods("get", "team-a"), new Right.Pods("list", "team-a"));
  }

  @ParameterizedTest
  @CsvSource({"pods/trainer", "what-if"})
  void onePodOfANamespace_needsGet(String what) {
    assertThat(Route.of(TEAM_A + what).orElseThrow().rights())
        .containsExactly(new Right.Pods("get", "team-a"));
  }

  /** The namespace that is reviewed is the one that is shown: no path has two readings. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "team-a/stream",
        "team-a/openapi.json",
        "team-a/",
        "team-a",
        "",
        "/pods",
        "../pods",
        "./pods",
        "team-a/../team-b/pods",
        "team-a%2Fpods/x/pods",
        "team-a%2F..%2Fteam-b/pods",
        "team%2Da/pods",
        "TEAM-A/pods",
        "team-a%00/pods",
        "team-a;x/pods",
        "team-a\\pods",
        "team-a//pods",
        "team-a/pods/",
        "team-a/pods/x/y",
        "team-a/gpus/x",
        "*/pods",
        "-a/pods",
        "team.a/pods",
        "тeam-a/pods"
      })
  void tricksWithANamespace_areNoPath(String rest) {
    assertThat(Route.of(Access.NAMESPACES + "/" + rest)).isEmpty();
  }

  @Test
  void longestNamespace_hasSixtyThreeCharacters() {
    assertThat(Route.of(Access.NAMESPACES + "/" + "a".repeat(63) + "/pods")).isPresent();
    assertThat(Route.of(Access.NAMESPACES + "/" + "a".repeat(64) + "/pods")).isEmpty();
  }
}
