package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.api.ReplicaId;
import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.gpu.NodeGpus;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.ContainerStatuses;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Sizing;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.readiness.Readiness;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** The node plugin's ConfigMap, edited while everything runs: one node of two equal GPUs. */
@Order(1_140)
class ConfigE2E {
  private static final String SHARED = "nvidia.com/gpu.shared";
  private static final String LABEL = "nvidia.com/device-plugin.config";
  private static final String NOT_A_CONFIG =
      """
      version: v1
      sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: -1}]}}
      """;

  @SuppressWarnings("NullAway.Init")
  @AutoClose
  private static OneNode node;

  @BeforeAll
  static void start() {
    node =
        OneNode.start(
            "config-" + UUID.randomUUID().toString().substring(0, 8),
            List.of(Model.T4, Model.T4),
            gpus -> {},
            Map.of(
                "advertisedResources[0]",
                Names.RESOURCE,
                "advertisedResources[1]",
                SHARED,
                "config.nvidiaCompatible",
                "extended"));
  }

  @BeforeEach
  void tenReplicas() {
    node.deletePods();
    setConfig(replicas(10));
    node.awaitAllocatable(Names.RESOURCE, 20);
    node.awaitAllocatable(SHARED, 0);
    awaitLabel(10);
  }

  @Test
  void exclusiveGpu_standsBesideASharedOne() {
    setConfig(
        """
        version: v1
        sharing:
          timeSlicing:
            resources:
              - {name: nvidia.com/gpu, rename: nvidia.com/gpu.shared, devices: [1], replicas: 10}
        """);
    node.awaitAllocatable(Names.RESOURCE, 1);
    node.awaitAllocatable(SHARED, 10);
    Pod whole = node.run(PodSpecs.plain("whole", 1).build());
    Pod shared = node.run(PodSpecs.plain("shared", SHARED, 1).build());
    assertThat(node.visibleDevices(whole)).isEqualTo(node.gpus().uuid(0));
    assertThat(node.visibleDevices(shared)).isEqualTo(node.gpus().uuid(1));
  }

  @Test
  void plainRequest_isAWholeGpu_whateverItsReplicas() {
    Pod plain = node.run(PodSpecs.plain("plain", 1).build());
    assertThat(node.held(plain).get("main"))
        .hasSize(10)
        .allSatisfy(id -> assertThat(ReplicaId.uuidOf(id)).isEqualTo(node.visibleDevices(plain)));
    Pod share = node.run(PodSpecs.fraction("share", "0.1").build());
    assertThat(node.visibleDevices(share)).isNotEqualTo(node.visibleDevices(plain));
  }

  /** On the node and on the ConfigMap, where whoever edits it looks. */
  @Test
  void brokenConfig_isRefusedInEvents_untilAGoodOneComes_andTheOldOneStays() {
    setConfig(NOT_A_CONFIG);
    awaitRefusal("replicas");
    awaitDescribed("ConfigRefused", "the previous one stays in use");
    assertThat(configErrors()).isEqualTo("1.0");
    assertThat(node.allocatable(Names.RESOURCE)).isEqualTo(20);
    node.run(PodSpecs.fraction("still", "0.3").build());

    setConfig(replicas(5));
    awaitLabel(5);
    awaitDescribed("ConfigUsed", "is in use");
  }

  @Test
  void labelThatNamesNoConfig_isRefusedInAnEvent_andTheOldOneStays() {
    node.kubectl("label", "node", OneNode.NODE, LABEL + "=none-such", "--overwrite");
    try {
      awaitRefusal("none-such");
      assertThat(node.allocatable(Names.RESOURCE)).isEqualTo(20);
    } finally {
      node.kubectl("label", "node", OneNode.NODE, LABEL + "-");
    }
  }

  @Test
  void editBelowARunningPod_leavesItItsReplicas_andGivesOthersTheRest() {
    Pod old = node.run(PodSpecs.fraction("old", "0.3").build());
    var held = node.held(old);
    setConfig(replicas(4));
    awaitLabel(4);
    awaitHeld(node.visibleDevices(old), 3);

    Pod whole = node.run(PodSpecs.fraction("whole", "1").build());
    Pod quarter = node.run(PodSpecs.fraction("quarter", "0.25").build());
    assertThat(node.visibleDevices(whole)).isNotEqualTo(node.visibleDevices(old));
    assertThat(node.visibleDevices(quarter)).isEqualTo(node.visibleDevices(old));
    awaitHeld(node.visibleDevices(old), 4);
    awaitHeld(node.visibleDevices(whole), 4);
    assertUndisturbed(old, held);
  }

  @Test
  void editBelowAFullGpu_leavesTheIdleGpuUsableAtOnce() {
    Pod old = node.run(PodSpecs.fraction("old", "1").build());
    var held = node.held(old);
    assertThat(held.get("main")).hasSize(10);
    setConfig(replicas(4));
    awaitLabel(4);
    // The ten that the pod requests, and the four of the idle GPU.
    node.awaitAllocatable(Names.RESOURCE, 14);

    Pod half = node.run(PodSpecs.fraction("half", "0.5").build());
    assertThat(node.visibleDevices(half)).isNotEqualTo(node.visibleDevices(old));
    assertUndisturbed(old, held);
  }

  @Test
  void editAboveARunningPod_offersNothingOfItsCoarserReplica() {
    setConfig(replicas(4));
    awaitLabel(4);
    node.awaitAllocatable(Names.RESOURCE, 8);
    Pod old = node.run(PodSpecs.fraction("old", "0.25").build());
    var held = node.held(old);
    setConfig(replicas(10));
    awaitLabel(10);
    // Seven of the ten are what three quarters hold, and one id is the pod's.
    node.awaitAllocatable(Names.RESOURCE, 18);

    Pod first = node.run(PodSpecs.fraction("first", "0.8").build());
    assertThat(node.visibleDevices(first)).isNotEqualTo(node.visibleDevices(old));
    node.create(PodSpecs.fraction("second", "0.8").build());
    Pod third = node.run(PodSpecs.fraction("third", "0.7").build());
    assertThat(node.visibleDevices(third)).isEqualTo(node.visibleDevices(old));
    assertThat(node.get("second").getStatus().getPhase()).isEqualTo("Pending");
    assertUndisturbed(old, held);
  }

  @Test
  void configThatDoesNotFit_leavesTheOneBefore_overARestart_untilAGoodOneComes() {
    setConfig(replicas(9_000));
    awaitRefusal("18000 replicas");
    restartPlugin();
    node.awaitAllocatable(Names.RESOURCE, 20);
    node.run(PodSpecs.fraction("after", "0.3").build());

    setConfig(replicas(5));
    awaitLabel(5);
    // Three tenths are held, which leaves three fifths of that GPU.
    node.awaitAllocatable(Names.RESOURCE, 3 + 3 + 5);
  }

  @Test
  void migStrategySingle_sharesMigDevices_asTheGpusThatTheyStandFor() {
    setConfig(
        """
        version: v1
        flags: {migStrategy: single}
        sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 5}]}}
        """);
    awaitLabel(5);
    node.awaitAllocatable(Names.RESOURCE, 10);
    NodeGpus gpus = node.gpus();
    try {
      gpus.mig(0, "1g.5gb", 4864);
      awaitRefusal("the same migEnabled value");
      gpus.mig(1, "1g.5gb", 4864);
      awaitConfigInUse();

      Pod share = node.run(PodSpecs.fraction("share", "0.4").build());
      String device = node.visibleDevices(share);
      assertThat(device).isIn(gpus.migUuid(0), gpus.migUuid(1));
      assertThat(share.getMetadata().getAnnotations()).containsEntry(Names.GPU, device);
      assertThat(node.held(share).get("main"))
          .hasSize(2)
          .allSatisfy(id -> assertThat(ReplicaId.uuidOf(id)).isEqualTo(device));
      Pod whole = node.run(PodSpecs.fraction("whole", "1").build());
      assertThat(List.of(device, node.visibleDevices(whole)))
          .containsExactlyInAnyOrder(gpus.migUuid(0), gpus.migUuid(1));
    } finally {
      node.deletePods();
      gpus.removeMig();
      restartPlugin();
    }
  }

  private static void assertUndisturbed(Pod before, Map<String, List<String>> held) {
    Pod now = node.get(before.getMetadata().getName());
    assertThat(now.getMetadata().getUid()).isEqualTo(before.getMetadata().getUid());
    assertThat(ContainerStatuses.withoutHealth(now))
        .isEqualTo(ContainerStatuses.withoutHealth(before));
    assertThat(node.held(before)).isEqualTo(held);
  }

  private static void awaitHeld(String uuid, int replicas) {
    Await.until(
        "every extender to count " + replicas + " of " + uuid,
        60,
        () -> {
          var pages = Inspection.of(node.tranche()).confirmedReplicas(OneNode.NODE);
          return !pages.isEmpty()
              && pages.stream().allMatch(page -> page.getOrDefault(uuid, 0) == replicas);
        },
        () -> node.tranche().gpuTables());
  }

  private static void awaitLabel(int replicas) {
    Await.until(
        "the label to say " + replicas,
        60,
        () ->
            Integer.toString(replicas)
                .equals(
                    node.client()
                        .nodes()
                        .withName(OneNode.NODE)
                        .get()
                        .getMetadata()
                        .getLabels()
                        .get(Names.LABEL_REPLICAS)));
    Sizing.await(node.client(), OneNode.NAMESPACE, replicas);
  }

  private static void awaitRefusal(String text) {
    Await.until(
        "event ConfigRefused",
        240,
        () ->
            events("ConfigRefused")
                .filter(e -> e.getMessage().contains("the previous one stays in use"))
                .anyMatch(e -> e.getMessage().contains(text)),
        () -> node.kubectl("get", "events") + config());
  }

  /** As kubectl shows it, which asks for the events of the ConfigMap's uid. */
  private static void awaitDescribed(String reason, String text) {
    Await.until(
        "event " + reason + " on the ConfigMap",
        60,
        () -> described().lines().anyMatch(line -> line.contains(reason) && line.contains(text)),
        ConfigE2E::described);
  }

  private static String described() {
    return node.kubectl("-n", Tranche.NAMESPACE, "describe", "configmap", "tranche-config");
  }

  private static void awaitConfigInUse() {
    Await.until(
        "the config to be in use",
        120,
        () -> configErrors().equals("0.0"),
        () -> node.kubectl("get", "events") + config());
  }

  private static Stream<Event> events(String reason) {
    return node.client().v1().events().inNamespace("default").list().getItems().stream()
        .filter(e -> e.getReason().equals(reason));
  }

  private static void restartPlugin() {
    Pod before = node.tranche().parts("node-plugin").getFirst();
    node.client().resource(before).delete();
    Await.until(
        "another node plugin to be ready",
        120,
        () ->
            node.tranche().parts("node-plugin").stream()
                .anyMatch(
                    pod ->
                        !pod.getMetadata().getUid().equals(before.getMetadata().getUid())
                            && Readiness.isPodReady(pod)),
        () -> node.kubectl("-n", Tranche.NAMESPACE, "describe", "pods"));
  }

  private static String configErrors() {
    return node.tranche()
        .metrics(node.tranche().parts("node-plugin").getFirst())
        .lines()
        .filter(line -> line.startsWith("tranche_node_config_errors"))
        .map(line -> line.substring(line.lastIndexOf(' ') + 1))
        .findFirst()
        .orElseThrow();
  }

  private static String config() {
    return node.kubectl(
        "-n", Tranche.NAMESPACE, "get", "configmap", "tranche-config", "-o", "yaml");
  }

  private static String replicas(int each) {
    return """
    version: v1
    sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: %d}]}}
    """
        .formatted(each);
  }

  private static void setConfig(String text) {
    node.setConfig(text);
  }
}
