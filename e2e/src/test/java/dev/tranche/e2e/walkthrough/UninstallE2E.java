package dev.tranche.e2e.walkthrough;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Secret;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** All objects of etcd are, after an uninstallation, what they were before the installation. */
@Tag("slice1")
@Order(1_190)
class UninstallE2E {
  private static final String NODE = "one";
  private static final Path POD_RESOURCES = UndisturbedPods.podResources("uninstall");

  /** What stays on purpose, and the words by which the page names it. */
  private static final Map<String, String> STAYS =
      Map.of(
          "namespaces /tranche", "the namespace `tranche`",
          "serviceaccounts tranche/default", "the namespace `tranche`",
          "configmaps tranche/kube-root-ca.crt", "the namespace `tranche`",
          "nodes /one capacity nvidia.com/gpu", "`nvidia.com/gpu: 0`");

  private static final String FILES =
      "find /var/lib/tranche /var/run/cdi /run/nvidia /var/lib/kubelet/device-plugins -mindepth 1"
          + " 2>/dev/null"
          // The kubelet's own.
          + " | grep -v -e /device-plugins/kubelet -e /run/nvidia/driver || true";

  @Test
  void page_namesAllThatStays() throws Exception {
    try (var reader = Walkthrough.start("../operations.md", NODE, POD_RESOURCES)) {
      var before = quiet(reader);
      assertThat(before.objects()).hasSizeGreaterThan(100);
      assertThat(files(reader)).isEmpty();

      Files.writeString(reader.terminal().folder().resolve("values.yaml"), "{}");
      reader.type("Upgrade");
      reader.awaitAllocatable(NODE, 2 * Tranche.DEFAULT_REPLICAS_PER_GPU);
      reader.typeOwn("helm test -n tranche tranche");
      usePods(reader);
      useServiceMode(reader);
      assertThat(before.missing(ClusterObjects.read(reader.client()))).hasSizeGreaterThan(30);

      reader.type("Uninstall");
      reader.awaitAllocatable(NODE, 0);
      // The garbage collector and the kubelet need a moment.
      Await.until(
          "only what stays on purpose to be left",
          120,
          () -> STAYS.keySet().containsAll(left(before, reader)),
          () -> left(before, reader).toString());
      var after = ClusterObjects.read(reader.client());
      assertThat(after.missing(before)).as("removed, and not Tranche's").isEmpty();
      assertThat(before.changed(after)).isEmpty();
      assertThat(files(reader)).isNotEmpty().allMatch(file -> file.startsWith("/var/lib/tranche/"));
      String page = Files.readString(Walkthrough.ROOT.resolve("docs/operations.md"));
      String section =
          page.substring(page.indexOf("## Uninstall"), page.indexOf("## After a cleanup"));
      assertThat(section).contains("/var/lib/tranche", "Events").contains(STAYS.values());
    }
  }

  private static Set<String> left(ClusterObjects before, Walkthrough reader) {
    return before.missing(ClusterObjects.read(reader.client()));
  }

  /** What a young cluster still creates by itself is not ours. */
  private static ClusterObjects quiet(Walkthrough reader) {
    Await.until(
        "a cluster that changes nothing by itself",
        60,
        () ->
            ClusterObjects.read(reader.client()).equals(ClusterObjects.read(reader.client()))
                && hasNodeLease(reader)
                && reader.client().configMaps().inNamespace("default").list().getItems().size()
                    == 1);
    return ClusterObjects.read(reader.client());
  }

  /** A kubelet writes it some seconds after its node. */
  private static boolean hasNodeLease(Walkthrough reader) {
    return reader.client().leases().inNamespace("kube-node-lease").withName(NODE).get() != null;
  }

  /** One that runs, and one for which events and annotations are written. */
  private static void usePods(Walkthrough reader) {
    var pods = reader.client().pods().inNamespace("default");
    pods.resource(PodSpecs.fraction("runs", "0.3").build()).create();
    pods.resource(
            PodSpecs.annotated(
                    "waits",
                    Map.of("tranche.dev/gpu-model", "H100", "tranche.dev/gpu-fraction", "0.5"))
                .build())
        .create();
    Await.until("the pod to run", 60, () -> "Running".equals(phase(pods.withName("runs").get())));
    pods.withGracePeriod(0).delete();
    Await.until("the pods to be gone", 60, () -> pods.list().getItems().isEmpty());
  }

  private static String phase(Pod pod) {
    return pod.getStatus().getPhase();
  }

  /** With a certificate for the cluster's own kube-scheduler. */
  private static void useServiceMode(Walkthrough reader) {
    reader.typeOwn(
        "helm upgrade tranche charts/tranche -n tranche --reuse-values --set"
            + " extender.mode=service");
    Await.until(
        "kube-scheduler's certificate",
        120,
        () -> {
          Secret secret =
              reader
                  .client()
                  .secrets()
                  .inNamespace("tranche")
                  .withName("tranche-scheduler-client-tls")
                  .get();
          return secret != null && secret.getData() != null && !secret.getData().isEmpty();
        });
  }

  private static Set<String> files(Walkthrough reader) {
    return reader
        .cluster()
        .exec(NODE, "sh", "-c", FILES)
        .orFail("listing files")
        .lines()
        .collect(Collectors.toCollection(TreeSet::new));
  }
}
