package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.chart.Prometheus;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Pod;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What Prometheus reads of each part. */
@Order(10)
class MetricsE2E extends Scenario {
  @ParameterizedTest
  @CsvSource({
    "webhook, tranche_webhook_",
    "extender, tranche_extender_",
    "node-plugin, tranche_node_",
  })
  void metrics_arePresentAndPassPrometheussOwnLinter(String part, String prefix) throws Exception {
    create(PodSpecs.fraction("one", "0.1"));
    running("one");
    // One that is leaving may be gone when it is asked.
    Pod pod =
        tranche().parts(part).stream()
            .filter(p -> p.getMetadata().getDeletionTimestamp() == null)
            .findFirst()
            .orElseThrow();
    String metrics = tranche().metrics(pod);
    assertThat(metrics).contains(prefix);
    assertThat(lint(metrics).lines().filter(finding -> !isDcgmsLabel(finding))).isEmpty();
  }

  /** The API server's proxy passes no credentials on, so it is the scheduler that refuses. */
  @Test
  void metricsOfKubeScheduler_areServed_butToNobodyUnknown() {
    var client = tranche().client();
    String url =
        "%sapi/v1/namespaces/%s/services/https:tranche-scheduler:scheduler/proxy/metrics"
            .formatted(client.getMasterUrl(), Tranche.NAMESPACE);
    var http = client.getHttpClient();
    var answer = http.sendAsync(http.newHttpRequestBuilder().uri(url).build(), String.class).join();
    assertThat(answer.code()).isEqualTo(403);
    assertThat(answer.body()).contains("system:anonymous", "/metrics");
  }

  /**
   * {@code UUID}, {@code modelName} and {@code Hostname} are what dcgm-exporter calls them, so that
   * people can join.
   */
  private static boolean isDcgmsLabel(String finding) {
    return finding.matches(
        "tranche_(container_)?gpu_\\w+ label names should be written in 'snake_case'.*");
  }

  private static String lint(String metrics) throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(Prometheus.promtool(), "check", "metrics")
            .redirectErrorStream(true)
            .start();
    try (var in = process.outputWriter(StandardCharsets.UTF_8)) {
      in.write(metrics);
    }
    String findings = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    process.waitFor();
    return findings;
  }
}
