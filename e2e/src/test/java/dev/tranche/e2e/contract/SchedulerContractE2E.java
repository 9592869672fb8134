package dev.tranche.e2e.contract;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Names;
import dev.tranche.e2e.cluster.Cluster;
import dev.tranche.e2e.cluster.KubernetesVersion;
import dev.tranche.e2e.cluster.Node;
import dev.tranche.e2e.cluster.TestImages;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.record.RecordingExtender;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/**
 * What Kubernetes does today and our configuration stands on. Nothing of Tranche runs here: a test
 * that fails says that a Kubernetes version has changed the ground.
 */
@Order(1_060)
class SchedulerContractE2E {
  private static final String NAMESPACE = "default";
  private static final int SIMULATED_NODES = 150;
  private static final int PLACED_SECONDS = 30;

  @AutoClose private static Cluster cluster;
  @AutoClose private static RecordingExtender extender;

  @BeforeAll
  static void start() {
    cluster =
        Cluster.builder()
            .node(Node.of("one"))
            .node(Node.of("two"))
            .imageTar(TestImages.busybox())
            .imageTar(TestImages.kubeScheduler())
            .start();
    extender = new RecordingExtender();
    for (int i = 0; i < SIMULATED_NODES; i++) {
      simulateNode("simulated-" + i);
    }
  }

  @Test
  void percentageOfNodesToScore_below100_hidesNodesFromTheExtender() throws Exception {
    schedule("all-nodes", "percentageOfNodesToScore: 100", false);
    schedule("some-nodes", "", false);
    create(requesting("sees-all", "all-nodes"));
    create(requesting("sees-some", "some-nodes"));
    placed("sees-all");
    placed("sees-some");
    assertThat(nodesShownFor("sees-all")).hasSize(SIMULATED_NODES);
    assertThat(nodesShownFor("sees-some")).hasSizeLessThan(SIMULATED_NODES);
  }

  @Test
  void managedResources_keepOtherPodsAway() throws Exception {
    schedule("managed", "", false);
    create(onSimulated(PodSpecs.pod("stranger"), "managed"));
    create(requesting("ours", "managed"));
    placed("stranger");
    placed("ours");
    assertThat(extender.filtersOf("stranger")).isEmpty();
    JsonNode args = extender.filtersOf("ours").getFirst();
    assertThat(args.has("NodeNames")).isTrue();
    assertThat(args.at("/Pod/spec/containers/0/resources/limits/nvidia.com~1gpu").asText())
        .isEqualTo("1");
  }

  @Test
  void ignorable_true_bindsWithoutAFailingExtender_andFalseDoesNot() throws Exception {
    schedule("strict", "", false);
    schedule("lax", "", true);
    extender.failing(true);
    try {
      create(requesting("waits", "strict"));
      create(requesting("slips-past", "lax"));
      placed("slips-past");
      Await.until(
          "the failing filter to be seen", 30, () -> !extender.filtersOf("waits").isEmpty());
      assertThat(nodeOf("waits")).isNull();
    } finally {
      extender.failing(false);
    }
    placed("waits");
  }

  /** The node affinity is worth 200, our 10 are worth 100, and 1,000 are not cut to 10. */
  @Test
  void scoresBeyondTen_areMultipliedUnchecked() throws Exception {
    // Of fewer nodes than there are, simulated-1 may not be shown to the extender.
    schedule("packed", "percentageOfNodesToScore: 100", false);
    extender.onlyScore("simulated-1", 10);
    create(preferring("simulated-2", requesting("ten", "packed")));
    assertThat(placed("ten")).isEqualTo("simulated-2");
    extender.onlyScore("simulated-1", 1000);
    create(preferring("simulated-2", requesting("thousand", "packed")));
    assertThat(placed("thousand")).isEqualTo("simulated-1");
  }

  @Test
  void bindingsAnnotations_areCopiedOntoThePod_inOneWrite() {
    create(onSimulated(PodSpecs.pod("bound"), "nobody").build());
    String uid = pod("bound").getMetadata().getUid();
    String binding =
        """
        {"apiVersion": "v1", "kind": "Binding",
         "metadata": {"name": "bound", "uid": "%s", "annotations": {"%s": "GPU-1"}},
         "target": {"kind": "Node", "name": "simulated-3"}}\
        """
            .formatted(uid, Names.GPU);
    client().raw("/api/v1/namespaces/" + NAMESPACE + "/pods/bound/binding", "POST", binding);
    assertThat(pod("bound").getSpec().getNodeName()).isEqualTo("simulated-3");
    assertThat(pod("bound").getMetadata().getAnnotations()).containsEntry(Names.GPU, "GPU-1");
  }

  private static KubernetesClient client() {
    return cluster.client();
  }

  private static void simulateNode(String name) {
    var node =
        new NodeBuilder()
            .withNewMetadata()
            .withName(name)
            .addToLabels("simulated", "true")
            .addToLabels("kubernetes.io/hostname", name)
            .endMetadata()
            .withNewSpec()
            .addNewTaint("NoSchedule", "simulated", null, "true")
            .endSpec()
            .withNewStatus()
            .withCapacity(capacity())
            .withAllocatable(capacity())
            .endStatus()
            .build();
    client().resource(node).create();
  }

  private static Map<String, Quantity> capacity() {
    return Map.of(
        Names.RESOURCE,
        new Quantity("10"),
        "cpu",
        new Quantity("8"),
        "memory",
        new Quantity("32Gi"),
        "pods",
        new Quantity("110"));
  }

  /** Runs a kube-scheduler that asks our extender for pods of its name. */
  private static void schedule(String name, String percentage, boolean ignorable)
      throws IOException {
    String gateway =
        cluster.exec("one", "sh", "-c", "ip route show default | cut -d' ' -f3").out().strip();
    String yaml =
        resource("/contract/scheduler.yaml")
            .replace("NAMESPACE", NAMESPACE)
            .replace("NAME", name)
            .replace("IMAGE", "registry.k8s.io/kube-scheduler:" + KubernetesVersion.ofClusters())
            .replace("PERCENTAGE", percentage)
            .replace("IGNORABLE", Boolean.toString(ignorable))
            .replace("URL", "http://" + gateway + ":" + extender.port());
    client()
        .load(new ByteArrayInputStream(yaml.getBytes(StandardCharsets.UTF_8)))
        .serverSideApply();
    Await.until(
        "kube-scheduler " + name,
        60,
        () -> client().pods().inNamespace(NAMESPACE).withName(name).isReady());
  }

  private static String resource(String name) throws IOException {
    try (InputStream in =
        Objects.requireNonNull(SchedulerContractE2E.class.getResourceAsStream(name))) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static PodBuilder requesting(String name, String scheduler) {
    return onSimulated(PodSpecs.plain(name, 1), scheduler);
  }

  private static PodBuilder onSimulated(PodBuilder pod, String scheduler) {
    return pod.editSpec()
        .withSchedulerName(scheduler)
        .addToNodeSelector("simulated", "true")
        .addNewToleration()
        .withOperator("Exists")
        .endToleration()
        .endSpec();
  }

  private static PodBuilder preferring(String node, PodBuilder pod) {
    return pod.editSpec()
        .withNewAffinity()
        .withNewNodeAffinity()
        .addNewPreferredDuringSchedulingIgnoredDuringExecution()
        .withWeight(100)
        .withNewPreference()
        .addNewMatchExpression()
        .withKey("kubernetes.io/hostname")
        .withOperator("In")
        .withValues(node)
        .endMatchExpression()
        .endPreference()
        .endPreferredDuringSchedulingIgnoredDuringExecution()
        .endNodeAffinity()
        .endAffinity()
        .endSpec();
  }

  private static void create(PodBuilder pod) {
    create(pod.build());
  }

  private static void create(Pod pod) {
    client().pods().inNamespace(NAMESPACE).resource(pod).create();
  }

  private static Pod pod(String name) {
    return client().pods().inNamespace(NAMESPACE).withName(name).get();
  }

  private static String nodeOf(String name) {
    return pod(name).getSpec().getNodeName();
  }

  private static String placed(String name) {
    Await.until(
        name + " to be placed",
        PLACED_SECONDS,
        () -> nodeOf(name) != null,
        () -> cluster.kubectl("describe", "pod", name).out());
    return nodeOf(name);
  }

  private static List<String> nodesShownFor(String pod) {
    JsonNode names = extender.filtersOf(pod).getFirst().get("NodeNames");
    return names.valueStream().map(JsonNode::asText).toList();
  }
}
