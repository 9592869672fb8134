package dev.tranche.e2e.walkthrough;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.cluster.Output;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Tranche;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/**
 * The last release's chart, then this one with another image's name, more replicas of the parts,
 * this one's replicas per GPU, and all of it back, while pods run and others are created. Only the
 * chart is old: the programs are the same. {@link SkewE2E} has those of an older version.
 */
@Order(1_120)
class UpgradeE2E {
  private static final String NODE = "one";
  private static final int GPUS = 2;
  private static final Path POD_RESOURCES = UndisturbedPods.podResources("upgrade");
  private static final List<String> SECRETS =
      List.of("tranche-ca", "tranche-webhook-tls", "tranche-extender-tls");

  /** By the chart of the last release. */
  private static final String LAST_RELEASE =
      "helm install tranche %s -n tranche --create-namespace -f values.yaml --wait --timeout 5m"
          .formatted(Walkthrough.ROOT.resolve("e2e/last-release/tranche"));

  @Test
  void page_disturbsNoPod_andKeepsTheCertificates() throws Exception {
    try (var reader = Walkthrough.start("../operations.md", NODE, POD_RESOURCES)) {
      String image = Artifacts.of(Walkthrough.ROOT).image();
      reader.nameImage(NODE, image, image + "-older");
      var pods = new UndisturbedPods(reader, POD_RESOURCES);
      reader.terminal().set("IMAGE_TAG", image.substring(image.lastIndexOf(':') + 1) + "-older");
      values(reader, "{webhook: {replicas: 1}, extender: {replicas: 1}}");
      reader.typeOwn(LAST_RELEASE);
      reader.awaitAllocatable(NODE, GPUS * 10);
      pods.run(PodSpecs.fraction("share", "0.3"));
      pods.run(PodSpecs.plain("plain", 1));
      Map<String, Map<String, String>> secrets = secrets(reader);
      assertThat(secrets.values()).allMatch(data -> data != null && data.containsKey("ca.crt"));
      secondInstallation_isRefused(reader);

      reader.terminal().set("IMAGE_TAG", image.substring(image.lastIndexOf(':') + 1));
      values(reader, "{replicas: 10}");
      try (var traffic = Traffic.start(reader)) {
        reader.type("Upgrade");
        traffic.stopAndCheck();
      }
      pods.check();
      assertThat(reader.pods("tranche", "app.kubernetes.io/component", "webhook"))
          .filteredOn(pod -> pod.getMetadata().getDeletionTimestamp() == null)
          .hasSize(2);
      pods.awaitCounted("tranche", NODE);

      values(reader, "{}");
      reader.type("Upgrade");
      // A change of the pod makes the kubelet look at its ConfigMap at once.
      reader.typeOwn(
          "kubectl -n tranche annotate pods -l app.kubernetes.io/component=node-plugin"
              + " touched=now");
      reader.awaitReplicas(NODE, Tranche.DEFAULT_REPLICAS_PER_GPU);
      pods.run(PodSpecs.fraction("of-twenty", "0.4"));
      assertThat(pods.heldReplicas("of-twenty")).hasSize(8);
      pods.check();

      reader.terminal().set("REVISION", "1");
      reader.type("Roll back");
      reader.awaitReplicas(NODE, 10);
      pods.run(PodSpecs.fraction("of-ten-again", "0.2"));
      assertThat(pods.heldReplicas("of-ten-again")).hasSize(2);
      pods.awaitCounted("tranche", NODE);
      pods.check();
      assertThat(secrets(reader)).isEqualTo(secrets);

      reader.type("Uninstall");
      reader.awaitAllocatable(NODE, 0);
      reader.nothingIsLeft(NODE);
      pods.check();
    }
  }

  /** Under another name it would own none of our objects, and its webhook would see our pods. */
  private static void secondInstallation_isRefused(Walkthrough reader) {
    Output second =
        reader
            .terminal()
            .type(
                "helm install other charts/tranche -n other --create-namespace --set"
                    + " nameOverride=other");
    assertThat(second.exitCode()).isNotZero();
    assertThat(second.err()).contains("only-one-tranche-per-cluster");
  }

  private static void values(Walkthrough reader, String yaml) throws IOException {
    Files.writeString(reader.terminal().folder().resolve("values.yaml"), yaml);
  }

  private static Map<String, Map<String, String>> secrets(Walkthrough reader) {
    var kept = new TreeMap<String, Map<String, String>>();
    for (String name : SECRETS) {
      kept.put(
          name,
          reader.client().secrets().inNamespace("tranche").withName(name).require().getData());
    }
    return kept;
  }
}
