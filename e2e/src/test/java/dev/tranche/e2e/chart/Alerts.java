package dev.tranche.e2e.chart;

import static dev.tranche.e2e.chart.Chart.documents;
import static java.util.Objects.requireNonNull;

import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The chart's PrometheusRule with every part on. */
final class Alerts {
  private static final String MPS =
      "version: v1\nsharing:\n  mps:\n    resources:\n    - name: nvidia.com/gpu\n      replicas:"
          + " 10\n";

  private Alerts() {}

  /** As a rule file of Prometheus, YAML. */
  static String ruleFile() {
    return Serialization.asYaml(spec());
  }

  /** The same without some of the annotations; promtool wants all that are there to be expected. */
  static String ruleFileWithout(Predicate<String> annotation) {
    Map<String, Object> spec = spec();
    rules(spec).forEach(rule -> map(rule.get("annotations")).keySet().removeIf(annotation));
    return Serialization.asYaml(spec);
  }

  /** Where each alert says that its page is, by the alert's name. */
  static Map<String, String> pages() {
    return rules(spec())
        .collect(
            Collectors.toMap(
                rule -> String.valueOf(rule.get("alert")),
                rule -> String.valueOf(map(rule.get("annotations")).get("runbook_url"))));
  }

  private static Stream<Map<String, Object>> rules(Map<String, Object> spec) {
    return list(spec.get("groups"))
        .flatMap(group -> list(map(group).get("rules")))
        .map(Alerts::map);
  }

  private static Stream<?> list(@Nullable Object value) {
    return ((List<?>) requireNonNull(value)).stream();
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> map(@Nullable Object value) {
    return (Map<String, Object>) requireNonNull(value);
  }

  private static Map<String, Object> spec() {
    var values =
        Map.<String, Object>of(
            "monitoring.prometheusRule.enabled",
            true,
            "monitoring.prometheusRule.idlePods",
            true,
            "monitoring.serviceMonitor.enabled",
            true,
            "monitoring.podMonitor.enabled",
            true,
            "config.map.any",
            MPS);
    String text = Chart.render(values);
    return documents(text)
        .filter(document -> document.contains("kind: PrometheusRule"))
        .map(rule -> Serialization.unmarshal(rule, GenericKubernetesResource.class))
        .map(rule -> map(rule.getAdditionalProperties().get("spec")))
        .findFirst()
        .orElseThrow();
  }
}
