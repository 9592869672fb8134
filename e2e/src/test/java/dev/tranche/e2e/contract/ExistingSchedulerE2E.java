package dev.tranche.e2e.contract;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Pod;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

/**
 * {@code extender.mode=service}, and a kube-scheduler with the configuration that we ship for it.
 */
class ExistingSchedulerE2E {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final String NAMESPACE = "default";

  @Test
  void schedulerOfOnesOwn_placesByTheExtender_overTls() throws IOException {
    var plan =
        new Tranche.Plan(
            "service",
            ROOT.resolve("target/service"),
            Map.of("only", List.of(Model.T4, Model.T4)),
            gpus -> gpus.values().forEach(of -> of.load(0, 90, 0)),
            Map.of("extender.mode", "service", "webhook.replicas", 1),
            false,
            step -> {});
    try (Tranche tranche = Tranche.start(Artifacts.of(ROOT), plan)) {
      startScheduler(tranche);
      Pod asking =
          PodSpecs.plain("asking", 3).editSpec().withSchedulerName("of-ones-own").endSpec().build();
      tranche.client().pods().inNamespace(NAMESPACE).resource(asking).create();
      Await.until(
          "the pod to run",
          60,
          () -> Objects.equals(pod(tranche).getStatus().getPhase(), "Running"),
          () -> tranche.cluster().kubectl("describe", "pod", "asking").out());
      assertThat(pod(tranche).getMetadata().getAnnotations())
          .containsEntry(Names.GPU, tranche.gpus("only").uuid(1));
    }
  }

  /** Our file with its words filled in, as its head says. */
  private static void startScheduler(Tranche tranche) throws IOException {
    String clusterIp =
        tranche
            .client()
            .services()
            .inNamespace(Tranche.NAMESPACE)
            .withName("tranche-extender")
            .get()
            .getSpec()
            .getClusterIP();
    String config =
        Files.readString(ROOT.resolve("deploy/scheduler-existing.yaml"))
            .replace("https://CLUSTER_IP", "https://" + clusterIp)
            .replace("caFile: CA_FILE", "caFile: /ca/ca.crt")
            .replaceAll("clientConnection:\n.*\n", "")
            .concat(
                "leaderElection: {leaderElect: false}\nprofiles: [{schedulerName: of-ones-own}]\n");
    String pod;
    try (var in =
        Objects.requireNonNull(
            ExistingSchedulerE2E.class.getResourceAsStream("/contract/existing-scheduler.yaml"))) {
      pod = new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
    String yaml = pod.replace("CONFIG", config.indent(4).strip());
    tranche
        .client()
        .load(new ByteArrayInputStream(yaml.getBytes(StandardCharsets.UTF_8)))
        .serverSideApply();
    var scheduler = tranche.client().pods().inNamespace(Tranche.NAMESPACE).withName("of-ones-own");
    Await.until("kube-scheduler to be ready", 60, scheduler::isReady, () -> scheduler.getLog());
  }

  private static Pod pod(Tranche tranche) {
    return tranche.client().pods().inNamespace(NAMESPACE).withName("asking").get();
  }
}
