package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.api.ReplicaId;
import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/** How the node plugin registers, on a node whose kubelet has another root directory. */
@Order(1_150)
class RegistrationE2E {
  private static final String ROOT = "/var/lib/rancher/kubelet";
  private static final String DEVICE_PLUGINS = "/var/lib/kubelet/device-plugins";
  private static final int REPLICAS = 2 * Tranche.REPLICAS_PER_GPU;
  private static final int KILLS = 3;

  @SuppressWarnings("NullAway.Init")
  @AutoClose
  private static OneNode node;

  @BeforeAll
  static void start() {
    node =
        OneNode.start(
            "registration-" + UUID.randomUUID().toString().substring(0, 8),
            List.of(Model.T4, Model.T4),
            gpus -> {},
            Map.of("kubeletRoot", ROOT));
  }

  @BeforeEach
  void idle() {
    node.deletePods();
    awaitAllWell();
  }

  @AfterEach
  void continueKubelet() {
    onTheNode("pkill -CONT -x kubelet");
  }

  @Test
  void rootDirectory_movesPodResourcesAndCheckpoints_butNotTheFolderOfDevicePlugins() {
    onTheNode("test -S " + DEVICE_PLUGINS + "/kubelet.sock");
    assertThat(sockets()).hasSize(1);
    onTheNode("test -S " + ROOT + "/pod-resources/kubelet.sock");
    onTheNode("test -f " + ROOT + "/cpu_manager_state");
    onTheNode("test ! -e " + ROOT + "/device-plugins");
    onTheNode("test ! -e /var/lib/kubelet/pod-resources");
    onTheNode("test ! -e /var/lib/kubelet/cpu_manager_state");
    aShareRunsOnItsGpu("share");
  }

  /** The kubelet has received a registration whose sender is dead when it answers. */
  @Test
  void killBetweenRegisterAndItsAnswer_leavesAllReplicas() {
    registerUnanswered();
    kill();
    onTheNode("pkill -CONT -x kubelet");
    awaitAllWell();
    aShareRunsOnItsGpu("after");
  }

  /** The plugin registers once more, under another socket, before the kubelet answers the first. */
  @Test
  void lostAnswer_leavesAllReplicas() {
    Set<String> first = registerUnanswered();
    Await.until("another registration", 60, () -> !first.containsAll(sockets()));
    onTheNode("pkill -CONT -x kubelet");
    awaitAllWell();
    aShareRunsOnItsGpu("after");
  }

  @Test
  void pluginThatIsKilledSeveralTimes_keepsItsReplicas_andRunningPods() {
    Pod before = node.run(PodSpecs.fraction("before", "0.3").build());
    var held = node.held(before);
    for (int i = 0; i < KILLS; i++) {
      int restarts = restarts();
      kill();
      Await.until("the plugin to be started again", 120, () -> restarts() > restarts);
      awaitAllWell();
    }
    assertThat(node.held(before)).isEqualTo(held);
    assertThat(node.get("before").getMetadata().getUid()).isEqualTo(before.getMetadata().getUid());
    aShareRunsOnItsGpu("after");
  }

  /** Stops the kubelet and makes the plugin register; returns its sockets since then. */
  private static Set<String> registerUnanswered() {
    Set<String> before = sockets();
    onTheNode("pkill -STOP -x kubelet");
    before.forEach(socket -> onTheNode("rm " + DEVICE_PLUGINS + "/" + socket));
    Await.until(
        "the plugin to register anew",
        30,
        () -> sockets().stream().anyMatch(socket -> !before.contains(socket)));
    return sockets();
  }

  private static void kill() {
    onTheNode("pkill -9 -f '[n]ode-plugin.args'");
  }

  private static int restarts() {
    return node.tranche().parts("node-plugin").stream()
        .flatMap(pod -> pod.getStatus().getContainerStatuses().stream())
        .mapToInt(status -> status.getRestartCount())
        .sum();
  }

  private static void awaitAllWell() {
    node.awaitAllocatable(Names.RESOURCE, REPLICAS);
    Await.until(
        "the plugin to be ready",
        180,
        () ->
            Integer.valueOf(1)
                .equals(
                    node.client()
                        .apps()
                        .daemonSets()
                        .inNamespace(Tranche.NAMESPACE)
                        .withName("tranche-node-plugin")
                        .get()
                        .getStatus()
                        .getNumberReady()),
        () -> node.kubectl("-n", Tranche.NAMESPACE, "describe", "pods"));
    // The API server shows what was true a moment ago.
    node.awaitAllocatable(Names.RESOURCE, REPLICAS);
  }

  private static void aShareRunsOnItsGpu(String name) {
    Pod pod = node.run(PodSpecs.fraction(name, "0.3").build());
    assertThat(node.held(pod).get("main"))
        .hasSize(3)
        .allSatisfy(id -> assertThat(ReplicaId.uuidOf(id)).isEqualTo(node.visibleDevices(pod)));
    assertThat(pod.getMetadata().getAnnotations())
        .containsEntry(Names.GPU, node.visibleDevices(pod));
  }

  private static Set<String> sockets() {
    return onTheNode("ls " + DEVICE_PLUGINS)
        .lines()
        .filter(name -> name.startsWith("tranche-gpu-"))
        .collect(Collectors.toSet());
  }

  private static String onTheNode(String command) {
    return node.tranche().cluster().exec(OneNode.NODE, "sh", "-c", command).orFail(command);
  }
}
