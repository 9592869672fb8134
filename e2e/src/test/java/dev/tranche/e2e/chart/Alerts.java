package dev.tranche.e2e.chart;

import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;

/** The chart's PrometheusRule with every part on. */
final class Alerts {
  private static final String MPS =
      "version: v1\nsharing:\n  mps:\n    resources:\n    - name: nvidia.com/gpu\n      replicas:"
          + " 10\n";

  private Alerts() {}

  /** As a rule file of Prometheus, YAML. */
  static String ruleFile() {
    var values =
        Map.<String, Object>of(
            "monitoring.prometheusRule.enabled",
            true,
            "monitoring.serviceMonitor.enabled",
            true,
            "monitoring.podMonitor.enabled",
            true,
            "config.map.any",
            MPS);
    String text =
        new Rendering("none", "none", "tranche", values).render(Path.of("../charts/tranche"));
    return Stream.of(text.split("\n---\n"))
        .filter(document -> document.contains("kind: PrometheusRule"))
        .map(rule -> Serialization.unmarshal(rule, GenericKubernetesResource.class))
        .map(rule -> Serialization.asYaml(rule.getAdditionalProperties().get("spec")))
        .findFirst()
        .orElseThrow();
  }
}
