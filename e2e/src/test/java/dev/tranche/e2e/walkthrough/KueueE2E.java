package dev.tranche.e2e.walkthrough;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.Shell;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import java.nio.file.Path;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The real Kueue counts the shares of pods whose manifests have an annotation alone. */
@Tag("matrix")
@Order(1_200)
class KueueE2E {
  private static final String NODE = "one";
  private static final Path POD_RESOURCES = UndisturbedPods.podResources("kueue");
  private static final String GPU = "nvidia.com/gpu";

  @Test
  void page_jobWithAnAnnotationAlone_isCountedInReplicas() throws Exception {
    Path built = Shell.built("kueue");
    try (var reader = Walkthrough.start("../quotas.md", NODE, POD_RESOURCES)) {
      reader.cluster().loadImages(built.resolve("image.tar"));
      reader.typeOwn("helm install tranche charts/tranche -n tranche --create-namespace --wait");
      reader.awaitAllocatable(NODE, 2 * Tranche.DEFAULT_REPLICAS_PER_GPU);
      installKueue(reader, built);

      reader.type("Kueue");
      awaitReserved(reader, 6, 1);
      reader.awaitPhase(1, "Running", "default", "job-name", "train");
      assertThat(reader.pods("default", "job-name", "train"))
          .as("both pods request their replicas, and one waits for the quota")
          .allMatch(pod -> replicas(pod).equals("6"))
          .filteredOn(pod -> !pod.getSpec().getSchedulingGates().isEmpty())
          .hasSize(1);

      quota(reader, 18);
      awaitReserved(reader, 12, 0);
      reader.awaitPhase(2, "Running", "default", "job-name", "train");

      reader.typeOwn(workload("Deployment", "apps/v1", "serve"));
      awaitReserved(reader, 18, 0);
      reader.awaitPhase(1, "Running", "default", "app", "serve");

      reader.typeOwn(workload("Job", "batch/v1", "by-template"));
      reader.awaitPhase(1, "Running", "default", "app", "by-template");
      assertThat(reserved(reader)).as("the template has no GPU").isEqualTo("18");
    }
  }

  private static void installKueue(Walkthrough reader, Path built) {
    reader.typeOwn(
        """
        helm install kueue %s -n kueue-system --create-namespace --wait --timeout 4m \
          --set controllerManager.manager.image.repository=tranche-e2e/kueue \
          --set controllerManager.manager.image.tag=1 --set controllerManager.manager.image.pullPolicy=Never
        """
            .formatted(built.resolve("chart")));
    Await.until(
        "Kueue's webhooks to answer",
        120,
        () ->
            reader
                    .terminal()
                    .type(
                        "kubectl create --dry-run=server -f - <<<'{apiVersion:"
                            + " kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name:"
                            + " asked}}'")
                    .exitCode()
                == 0);
  }

  /** With the queue's label on the workload itself. */
  private static String workload(String kind, String version, String name) {
    return """
    kubectl apply -f - <<'EOF'
    apiVersion: %s
    kind: %s
    metadata: {name: %s, labels: {kueue.x-k8s.io/queue-name: team-a}}
    spec:
      %s
      template:
        metadata:
          labels: {app: %3$s}
          annotations: {tranche.dev/gpu-fraction: "0.3"}
        spec:
          %s
          terminationGracePeriodSeconds: 0
          containers: [{name: main, image: "busybox:1.37", command: [sleep, "3600"]}]
    EOF
    """
        .formatted(
            version,
            kind,
            name,
            kind.equals("Job") ? "" : "selector: {matchLabels: {app: " + name + "}}",
            kind.equals("Job") ? "restartPolicy: Never" : "");
  }

  private static void quota(Walkthrough reader, int replicas) {
    reader.typeOwn(
        "kubectl patch clusterqueue team-a --type=json -p '[{\"op\":\"replace\",\"path\":\"/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota\",\"value\":\"%d\"}]'"
            .formatted(replicas));
  }

  private static void awaitReserved(Walkthrough reader, int replicas, int pending) {
    String expected = replicas + " " + pending;
    Await.until(
        "Kueue to count %d replicas, and %d workloads to wait".formatted(replicas, pending),
        120,
        () -> expected.equals(reserved(reader) + " " + pending(reader)),
        () ->
            reserved(reader)
                + " "
                + pending(reader)
                + reader.typeOwn("kubectl get workloads,jobs,pods -A -o wide")
                + reader.typeOwn(
                    "kubectl -n kueue-system logs deployment/kueue-controller-manager --tail=40"));
  }

  private static String reserved(Walkthrough reader) {
    return clusterQueue(
        reader, ".status.flavorsReservation[0].resources[?(@.name==\"" + GPU + "\")].total");
  }

  private static String pending(Walkthrough reader) {
    return clusterQueue(reader, ".status.pendingWorkloads");
  }

  private static String clusterQueue(Walkthrough reader, String field) {
    return reader.typeOwn("kubectl get clusterqueue team-a -o jsonpath='{" + field + "}'").strip();
  }

  private static String replicas(Pod pod) {
    Quantity limit = pod.getSpec().getContainers().getFirst().getResources().getLimits().get(GPU);
    return limit == null ? "none" : limit.getAmount();
  }
}
