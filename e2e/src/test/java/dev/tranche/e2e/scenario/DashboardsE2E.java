package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.api.Names;
import dev.tranche.e2e.chart.Dashboard;
import dev.tranche.e2e.chart.Expositions;
import dev.tranche.e2e.chart.Prometheus;
import dev.tranche.e2e.gpu.NodeGpus;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.LocalPortForward;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every panel of the dashboards, asked of a Prometheus that scrapes the cluster. */
@Order(40)
class DashboardsE2E extends Scenario {
  private static final int SCRAPE_INTERVAL_S = 5;
  private static final int SCHEDULER_PORT = 10259;
  private static final String JOB = "tranche-scheduler";
  private static final String RIGHT = "dashboards-e2e";

  /** Panels that may be empty, each with the reason. */
  private static final Map<String, String> EMPTY =
      Map.of(
          "Health changes", "counted from the first XID or lost GPU",
          "Uncorrectable memory errors", "GPUs that count no ECC errors, as most without ECC",
          "Temperature", "GPUs that do not tell",
          "Power", "GPUs that do not tell",
          "Events by reason", "counted from the first event",
          "Waste", "pods that have not used a GPU for an hour");

  private final List<LocalPortForward> forwards = new ArrayList<>();

  @AfterEach
  void takeRightAway() throws IOException {
    for (LocalPortForward forward : forwards) {
      forward.close();
    }
    tranche().client().rbac().clusterRoleBindings().withName(RIGHT).delete();
    tranche().client().rbac().clusterRoles().withName(RIGHT).delete();
  }

  @Test
  void everyPanel_showsSomething(@TempDir Path folder) throws Exception {
    try (var expositions = Expositions.start()) {
      expose(expositions);
      var configs = new ArrayList<Map<String, Object>>(List.of(expositions.scrapeConfig()));
      if (ownScheduler()) {
        configs.add(kubeSchedulers());
      }
      int targets = expositions.size() + forwards.size();
      try (var prometheus = Prometheus.start(folder, SCRAPE_INTERVAL_S, configs)) {
        // Rates need a sample from before what is counted, and kube-scheduler has one of pods only
        // once it has bound one.
        create(PodSpecs.fraction("first", "0.1"));
        running("first");
        prometheus.awaitScrapes(targets, 1);
        makeThingsHappen();
        prometheus.awaitScrapes(targets, 2);
        assertThat(empty(prometheus)).as("queries without a reason to find nothing").isEmpty();
      }
    }
  }

  /**
   * Another kube-scheduler's metrics are its owner's; only the one beside the extender is asked.
   */
  private static boolean ownScheduler() {
    return scheduler().equals(Names.SCHEDULER);
  }

  private List<Dashboard.Query> empty(Prometheus prometheus) {
    var variables =
        Map.of(
            "installation", Tranche.NAMESPACE,
            "node", BETA,
            "namespace", namespace,
            "scheduler", JOB,
            "__rate_interval", "5m");
    return Dashboard.queries().stream()
        .filter(query -> ownScheduler() || !query.expression().contains("$scheduler"))
        .map(query -> query.with(variables))
        .filter(query -> !prometheus.shows(query.expression()))
        .filter(query -> !EMPTY.containsKey(query.panel()))
        .toList();
  }

  private static void expose(Expositions expositions) {
    for (String part : List.of("webhook", "extender", "node-plugin")) {
      for (Pod pod : tranche().parts(part)) {
        if (pod.getMetadata().getDeletionTimestamp() == null) {
          expositions.add(labels(part, pod), () -> tranche().metrics(pod));
        }
      }
    }
  }

  /** As the chart's monitors have them: the node only for the node plugin. */
  private static Map<String, String> labels(String part, Pod pod) {
    var labels =
        new HashMap<>(
            Map.of(
                "namespace",
                Tranche.NAMESPACE,
                "pod",
                pod.getMetadata().getName(),
                "container",
                part,
                "endpoint",
                "metrics",
                "job",
                "tranche-" + part));
    if (part.equals("node-plugin")) {
      labels.put("node", nodeOf(pod));
    }
    return labels;
  }

  /** By TLS, with the right that docs/monitoring.md names. */
  private Map<String, Object> kubeSchedulers() {
    kubectl("create", "clusterrole", RIGHT, "--verb=get", "--non-resource-url=/metrics");
    kubectl(
        "create",
        "clusterrolebinding",
        RIGHT,
        "--clusterrole=" + RIGHT,
        "--serviceaccount=" + namespace + ":default");
    String token = kubectl("-n", namespace, "create", "token", "default").strip();
    for (Pod pod : tranche().parts("extender")) {
      forwards.add(
          tranche()
              .client()
              .pods()
              .inNamespace(Tranche.NAMESPACE)
              .withName(pod.getMetadata().getName())
              .portForward(SCHEDULER_PORT));
    }
    List<String> addresses =
        forwards.stream().map(forward -> "127.0.0.1:" + forward.getLocalPort()).toList();
    return Map.of(
        "job_name", JOB,
        "scheme", "https",
        "authorization", Map.of("credentials", token),
        "tls_config", Map.of("insecure_skip_verify", true),
        "static_configs",
            List.of(
                Map.of("targets", addresses, "labels", Map.of("namespace", Tranche.NAMESPACE))));
  }

  private static String kubectl(String... arguments) {
    return tranche().cluster().kubectl(arguments).orFail(String.join(" ", arguments));
  }

  /** Pods of which one uses its GPU, one is denied and one waits. */
  private void makeThingsHappen() {
    NodeGpus gpus = tranche().gpus(BETA);
    create(onFirstGpu("busy", "0.3"));
    Pod busy = running("busy");
    gpus.load(0, 60, 4000);
    gpus.process(0, pid(busy), 4000, 40);
    create(onFirstGpu("waits", "0.9"));
    pendingMessage("waits");
    assertThatThrownBy(() -> create(PodSpecs.fraction("wrong", "much")))
        .hasMessageContaining("much");
    Await.until(
        "the use of the busy pod to be measured",
        90,
        () ->
            tranche().parts("node-plugin").stream()
                .filter(pod -> BETA.equals(nodeOf(pod)))
                .anyMatch(pod -> tranche().metrics(pod).contains("namespace=\"" + namespace)));
  }

  private static Pod onFirstGpu(String name, String fraction) {
    var annotations =
        Map.of(Names.GPU_FRACTION, fraction, Names.GPU_UUID, tranche().gpus(BETA).uuid(0));
    return PodSpecs.on(BETA, PodSpecs.annotated(name, annotations));
  }
}
