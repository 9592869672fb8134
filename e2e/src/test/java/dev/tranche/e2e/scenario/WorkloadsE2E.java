package dev.tranche.e2e.scenario;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.dsl.ListVisitFromServerGetDeleteRecreateWaitApplicable;
import java.io.ByteArrayInputStream;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** Whoever makes the pods, the annotation on their template is enough. */
@Order(15)
class WorkloadsE2E extends Scenario {
  private static final int EACH = 2;
  private static final String DAEMON_SET = "DaemonSet";

  @Test
  void podsOfEveryController_getTheirShare() {
    var workloads =
        workloads(
            workload("apps/v1", "Deployment", "replicas: 2", "Always"),
            workload("apps/v1", "StatefulSet", "replicas: 2", "Always"),
            workload("apps/v1", DAEMON_SET, "minReadySeconds: 0", "Always"),
            workload("batch/v1", "Job", "parallelism: 2", "Never"));
    workloads.create();
    try {
      allRunning(3 * EACH + tranche().nodes().size());
      assertThat(pods())
          .allSatisfy(
              pod -> {
                assertThat(held(pod).get("main")).hasSize(2);
                assertThat(heldGpus(pod)).isEqualTo(assigned(pod)).hasSize(1);
              });
      assertThat(pods().stream().filter(pod -> isOf(DAEMON_SET, pod)).map(Scenario::nodeOf))
          .containsExactlyInAnyOrderElementsOf(tranche().nodes());
    } finally {
      workloads.delete();
    }
  }

  private ListVisitFromServerGetDeleteRecreateWaitApplicable<HasMetadata> workloads(
      String... yaml) {
    String all = Stream.of(yaml).collect(Collectors.joining("---\n"));
    return client().load(new ByteArrayInputStream(all.getBytes(UTF_8))).inNamespace(namespace);
  }

  /** A Job finds its pods by itself. */
  private static String workload(String apiVersion, String kind, String own, String restartPolicy) {
    String selector = kind.equals("Job") ? "" : "selector: {matchLabels: {made-by: %s}}";
    return """
    apiVersion: %s
    kind: %s
    metadata: {name: shares}
    spec:
      %s
      %s
      template:
        metadata:
          labels: {made-by: %2$s}
          annotations: {tranche.dev/gpu-fraction: "0.2"}
        spec:
          restartPolicy: %s
          terminationGracePeriodSeconds: 0
          containers: [{name: main, image: "%s", command: [sleep, "3600"]}]
    """
        .formatted(apiVersion, kind, own, selector.formatted(kind), restartPolicy, PodSpecs.IMAGE);
  }

  private static boolean isOf(String kind, Pod pod) {
    return kind.equals(pod.getMetadata().getLabels().get("made-by"));
  }
}
