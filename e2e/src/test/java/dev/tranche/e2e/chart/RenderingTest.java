package dev.tranche.e2e.chart;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.marcnuri.helm.Helm;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.FieldSource;

class RenderingTest {
  private static final Path CHART = Path.of("../charts/tranche");
  static final Iterable<Rendering> RENDERINGS = Rendering.ALL;

  @ParameterizedTest
  @FieldSource("RENDERINGS")
  void deploy_equalsTheRenderedChart(Rendering rendering) {
    assertThat(rendering.committed(Path.of("../deploy")))
        .as("deploy/%s: write it anew with ./check --render", rendering.file())
        .isEqualTo(rendering.render(CHART));
  }

  @Test
  void chart_passesHelmsLinter() {
    var lint = new Helm(CHART).lint().strict().call();
    assertThat(lint.isFailed()).as("%s", lint.getMessages()).isFalse();
  }

  @ParameterizedTest
  @CsvSource({
    "extender.mode, both, scheduler (a stock kube-scheduler in our pod) and service",
    "extender.policy, fast, 'load, packed and spread'",
    "extender.memoryGuard, on, 'enforce, score and off'",
    "webhook.enabled, false, extender.enabled needs webhook.enabled",
  })
  void impossibleValues_areRefusedInASentence(String key, String value, String sentence) {
    assertThatThrownBy(() -> render(Map.of(key, value))).hasMessageContaining(sentence);
  }

  @Test
  void managedResources_followTheConfig() {
    String config =
        "version: v1\nsharing:\n  timeSlicing:\n    renameByDefault: true\n    resources:\n    -"
            + " name: nvidia.com/gpu\n      replicas: 4\n";
    assertThat(render(Map.of("config.map.any", config)))
        .contains("- name: nvidia.com/gpu.shared")
        .contains("--resource=nvidia.com/gpu.shared")
        .contains("--default-replicas-per-gpu=4");
  }

  @Test
  void packed_scoresPodsWithoutGpusToo() {
    assertThat(render(Map.of("extender.policy", "packed"))).contains("prioritizeVerb: pack\n");
    assertThat(render(Map.of("extender.policy", "load"))).doesNotContain("prioritizeVerb: pack\n");
  }

  private static String render(Map<String, Object> values) {
    return new Rendering("none", "none", values).render(CHART);
  }
}
