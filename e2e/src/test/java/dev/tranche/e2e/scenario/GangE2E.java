package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.api.ReplicaId;
import dev.tranche.e2e.cluster.Cluster;
import dev.tranche.e2e.cluster.KubernetesVersion;
import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

/** Four pods that kube-scheduler places together or not at all, two on each of two GPUs. */
@Tag("matrix")
@Order(1_090)
@EnabledIf("hasPodGroups")
class GangE2E {
  /** The first version in which a pod names its PodGroup in its spec. */
  private static final int POD_GROUPS_SINCE_MINOR = 37;

  private static final String GATE = "feature-gates=GenericWorkload=true";
  private static final List<String> MEMBERS = List.of("m1", "m2", "m3", "m4");
  private static final String GROUP =
      """
      apiVersion: scheduling.k8s.io/v1beta1
      kind: PodGroup
      metadata: {name: train, namespace: default}
      spec: {schedulingPolicy: {gang: {minCount: 4}}}
      """;

  static boolean hasPodGroups() {
    return KubernetesVersion.minorOfClusters() >= POD_GROUPS_SINCE_MINOR;
  }

  private static OneNode start() {
    var cluster =
        Cluster.builder()
            .withQuickKubelets()
            .serverArg("--kube-apiserver-arg=" + GATE)
            .serverArg("--kube-apiserver-arg=runtime-config=scheduling.k8s.io/v1beta1=true")
            .serverArg("--kube-controller-manager-arg=" + GATE)
            .serverArg("--kube-scheduler-arg=" + GATE);
    return OneNode.start(
        "gang-" + UUID.randomUUID().toString().substring(0, 8),
        List.of(Model.T4, Model.T4, Model.T4),
        gpus -> {},
        Map.of("scheduler.featureGates.GenericWorkload", true),
        cluster);
  }

  private static Pod member(String name) {
    Pod pod = PodSpecs.fraction(name, "0.5").build();
    pod.getSpec().setAdditionalProperty("schedulingGroup", Map.of("podGroupName", "train"));
    return pod;
  }

  private static Pod on(OneNode node, int index, String name, String fraction) {
    return PodSpecs.annotated(
            name, Map.of(Names.GPU_FRACTION, fraction, Names.GPU_UUID, node.gpus().uuid(index)))
        .build();
  }

  private static long placed(OneNode node) {
    return MEMBERS.stream().filter(name -> node.get(name).getSpec().getNodeName() != null).count();
  }

  private static boolean saysWhatIsMissing(OneNode node, int fitting) {
    String missing =
        "its pod group default/train needs 4 pods with GPUs at once, and %d of them fit now"
            .formatted(fitting);
    return node.client().v1().events().inNamespace(OneNode.NAMESPACE).list().getItems().stream()
        .map(Event::getMessage)
        .anyMatch(message -> message != null && message.contains(missing));
  }

  private static String state(OneNode node) {
    return node.kubectl("get", "pods,podgroups,events", "-o", "wide");
  }

  @Test
  void gang_waitsWhole_whileAFifthPodHasItsPlace_andIsBoundWhole_acrossARestart() {
    try (OneNode node = start()) {
      node.awaitAllocatable(Names.RESOURCE, 30);
      // 21 replicas are left, enough for all, so that kube-scheduler asks about the last member,
      // too. They are 4, 7 and 10 of a GPU, so that three members fit.
      node.run(on(node, 0, "fifth", "0.6"));
      node.run(on(node, 1, "sixth", "0.3"));
      node.client().resource(GROUP).create();
      MEMBERS.forEach(name -> node.create(member(name)));
      Await.until(
          "the event of a member", 120, () -> saysWhatIsMissing(node, 3), () -> state(node));
      assertThat(placed(node)).isZero();
      // What the members would have had is free for others at once.
      node.run(PodSpecs.fraction("seventh", "0.5").build());
      assertThat(placed(node)).isZero();

      List.of("fifth", "sixth", "seventh").forEach(node::delete);
      node.client()
          .pods()
          .inNamespace(Tranche.NAMESPACE)
          .withLabel("app.kubernetes.io/component", "extender")
          .withGracePeriod(0)
          .delete();
      Await.until("the whole gang", 240, () -> placed(node) == MEMBERS.size(), () -> state(node));
      MEMBERS.forEach(node::awaitRunning);
      assertThat(MEMBERS.stream().flatMap(name -> node.held(node.get(name)).values().stream()))
          .as("five replicas each, of one GPU")
          .allSatisfy(
              replicas ->
                  assertThat(replicas)
                      .hasSize(5)
                      .extracting(ReplicaId::uuidOf)
                      .containsOnly(ReplicaId.uuidOf(replicas.getFirst())));
    }
  }
}
