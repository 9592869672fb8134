package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.api.Names;
import dev.tranche.e2e.cluster.Node;
import dev.tranche.e2e.cluster.NvidiaToolkit;
import dev.tranche.e2e.cluster.TestImages;
import dev.tranche.e2e.gpu.NodeGpus;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Shell;
import dev.tranche.e2e.install.Sizing;
import dev.tranche.e2e.install.Tranche;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ContainerStatus;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.readiness.Readiness;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Memory limits that NVIDIA's own container runtime and hook set, for containers of a real kubelet
 * and containerd. The driver is simulated. Where the machine has cgroup v1, runc joins the cgroup
 * v2 that the nodes mount beside it.
 */
@Tag("slice3")
@Order(210)
class MemoryLimitsE2E extends Scenario {
  private static final String DRIVER_VERSION = "615.71.09";
  private static final String TOOLKIT = NvidiaToolkit.FOLDER;
  private static final String UNIFIED = "/sys/fs/cgroup/unified";

  /** In it the simulated NVML keeps limits; the plugin and the hook both write there. */
  private static final String LIMITS = "/var/lib/tranche";

  private static boolean hybrid;

  @BeforeAll
  static void installToolkit() throws IOException {
    Path toolkit = NvidiaToolkit.ofNodes();
    for (String node : tranche().nodes()) {
      NodeGpus gpus = tranche().gpus(node);
      copyAll(toolkit, driver(gpus).resolve("toolkit"));
      for (String library : List.of("libcuda.so.", "libnvidia-ml.so.")) {
        Files.copy(
            gpus.libraryFolder().resolve("libnvidia-ml.so.1"),
            gpus.libraryFolder().resolve(library + DRIVER_VERSION),
            StandardCopyOption.REPLACE_EXISTING);
      }
      gpus.driver("version=" + DRIVER_VERSION + " limits=dmem");
      hybrid =
          tranche()
                  .cluster()
                  .exec(node, "test", "-f", "/sys/fs/cgroup/cgroup.controllers")
                  .exitCode()
              != 0;
      if (hybrid) {
        onTheNode(node, "mkdir -p %1$s && mount -t cgroup2 none %1$s".formatted(UNIFIED));
      }
      onTheNode(node, "mount --bind " + Node.DRIVER_ROOT + "/toolkit " + TOOLKIT);
    }
  }

  @AfterAll
  static void removeToolkit() throws IOException {
    for (String node : tranche().nodes()) {
      NodeGpus gpus = tranche().gpus(node);
      onTheNode(node, "umount -l " + TOOLKIT + (hybrid ? " " + UNIFIED : ""));
      gpus.driver("");
      for (String library : List.of("libcuda.so.", "libnvidia-ml.so.")) {
        Files.delete(gpus.libraryFolder().resolve(library + DRIVER_VERSION));
      }
    }
  }

  private static Path driver(NodeGpus gpus) {
    return gpus.libraryFolder().resolve("../..").normalize();
  }

  private static void copyAll(Path from, Path to) throws IOException {
    try (Stream<Path> all = Files.walk(from)) {
      for (Path file : all.toList()) {
        Path copy = to.resolve(from.relativize(file).toString());
        if (Files.isDirectory(file)) {
          Files.createDirectories(copy);
        } else {
          // A link is copied as the file that it names.
          Files.copy(
              file, copy, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.COPY_ATTRIBUTES);
        }
      }
    }
  }

  private static String onTheNode(String node, String script) {
    return tranche().cluster().exec(node, "sh", "-c", script).orFail(script).strip();
  }

  @Override
  Map<String, Object> values() {
    return Map.of(
        "nodePlugin.memoryLimits",
        "required",
        "cdi.nvidiaHookPath",
        TOOLKIT + "/nvidia-cdi-hook",
        "nodePlugin.env.TRANCHE_CGROUP_CTR_PATH",
        hybrid ? "/host/cgroup/unified" : "/host/cgroup",
        "nodePlugin.env.TRANCHE_FAKENVML_COMPUTE_MODES",
        LIMITS);
  }

  /**
   * The hook's limit on the container's own cgroup, in MiB; empty if it has none. Fails if the
   * container has no cgroup.
   */
  private static String limitMib(Pod pod, String container) {
    String script =
        """
        key=$(stat -c %%d.%%i '%s') || exit 1
        cat %s/gpus.state.limit.*.$key 2>/dev/null || true
        """
            .formatted(cgroup(pod, container), LIMITS);
    String limit = onTheNode(nodeOf(pod), script);
    if (limit.isEmpty()) {
      return "";
    }
    String[] softAndHard = limit.split(" ");
    assertThat(softAndHard[0]).as("soft limit of %s", container).isEqualTo("0");
    return Long.toString(Long.parseLong(softAndHard[1]) >> 20);
  }

  /** The folder of a container's cgroup on its node. */
  private static String cgroup(Pod pod, String container) {
    ContainerStatus status =
        Stream.concat(
                pod.getStatus().getContainerStatuses().stream(),
                pod.getStatus().getInitContainerStatuses().stream())
            .filter(each -> each.getName().equals(container))
            .findFirst()
            .orElseThrow();
    String id = status.getContainerID().replace("containerd://", "");
    String root = hybrid ? UNIFIED : "/sys/fs/cgroup";
    String found =
        onTheNode(nodeOf(pod), "find %s -type d -name '*%s*' | head -n 1".formatted(root, id));
    assertThat(found).as("cgroup of %s", id).isNotEmpty();
    return found;
  }

  private String variable(String pod, String container, String name) {
    return kubectl("-n", namespace, "exec", pod, "-c", container, "--", "sh", "-c", "echo $" + name)
        .strip();
  }

  private void awaitLimited(String pod, String value) {
    Await.until(
        pod + " to be reported as " + value,
        90,
        () -> limited(pod).equals(value),
        () -> limited(pod));
  }

  private String limited(String pod) {
    return tranche().queryReadApi("/api/v1/pods?namespace=" + namespace).stream()
        .flatMap(answer -> answer.json().path("items").valueStream())
        .filter(item -> item.path("name").asText().equals(pod))
        .findFirst()
        .map(item -> item.at("/gpus/0/limited").asText())
        .orElse("");
  }

  /** Two containers and a sidecar have a cgroup each, and so a limit each. */
  @Test
  void eachContainerOfAShare_isLimitedByNvidiasHook() {
    Map<String, String> shares = new HashMap<>();
    shares.put(Names.GPU_FRACTION_OF + "main", "0.3");
    shares.put(Names.GPU_FRACTION_OF + "second", "0.2");
    shares.put(Names.GPU_FRACTION_OF + "side", "0.1");
    create(
        PodSpecs.annotated("pair", shares)
            .editSpec()
            .addToContainers(PodSpecs.container("second"))
            .addNewInitContainerLike(PodSpecs.container("side"))
            .withRestartPolicy("Always")
            .endInitContainer()
            .endSpec());
    Pod pair = running("pair");
    for (String container : List.of("main", "second", "side")) {
      String mib = variable("pair", container, "TRANCHE_GPU_MEMORY_MIB");
      assertThat(limitMib(pair, container)).as(container).isEqualTo(mib);
      assertThat(variable("pair", container, "NVIDIA_GPU_MEMORY_LIMIT")).isEqualTo(mib);
    }
    awaitLimited("pair", "Yes");
  }

  @Test
  void podsOwnLimit_isSet_andNoneIsRemembered_acrossARestartOfThePlugin() {
    create(own("small", "1Gi"));
    create(own("free", "none"));
    assertThat(limitMib(running("small"), "main")).isEqualTo("1024");
    Pod free = running("free");
    assertThat(limitMib(free, "main")).isEmpty();
    assertThat(variable("free", "main", "NVIDIA_GPU_MEMORY_LIMIT")).isEmpty();
    awaitLimited("free", "OptedOut");
    restartPlugins();
    awaitLimited("small", "Yes");
    awaitLimited("free", "OptedOut");
    assertThatThrownBy(() -> create(own("borrower", "10Gi")))
        .hasMessageContaining("is above what container \"main\" is granted");
  }

  private static void restartPlugins() {
    tranche()
        .parts("node-plugin")
        .forEach(plugin -> client().resource(plugin).withGracePeriod(0).delete());
    awaitPlugins();
  }

  private static void awaitPlugins() {
    Await.until(
        "the plugins to serve again",
        120,
        () ->
            tranche().allocatable().values().stream().allMatch(replicas -> replicas > 0)
                && tranche().parts("node-plugin").stream().allMatch(Readiness::isPodReady));
  }

  private static Pod own(String name, String limit) {
    return PodSpecs.on(
        BETA,
        PodSpecs.annotated(name, Map.of(Names.GPU_FRACTION, "0.3", Names.GPU_MEMORY_LIMIT, limit)));
  }

  /**
   * On containerd the plugin's variable comes before the pod's, and NVIDIA's hook takes the first.
   */
  @Test
  void variablesOfThePod_doNotReplaceTheLimit() {
    client()
        .resource(
            new ConfigMapBuilder()
                .withNewMetadata()
                .withName("lie")
                .withNamespace(namespace)
                .endMetadata()
                .addToData("NVIDIA_GPU_MEMORY_LIMIT", "999999")
                .build())
        .create();
    create(
        new PodBuilder(PodSpecs.fraction("liar", "0.3").build())
            .editSpec()
            .editFirstContainer()
            .addNewEnvFrom()
            .withNewConfigMapRef("lie", false)
            .endEnvFrom()
            .addNewEnv()
            .withName("NVIDIA_GPU_MEMORY_LIMIT")
            .withValue("999999")
            .endEnv()
            .endContainer()
            .endSpec());
    Pod liar = running("liar");
    assertThat(liar.getSpec().getContainers().getFirst().getEnv())
        .as("the guard removes it")
        .noneMatch(env -> env.getName().equals("NVIDIA_GPU_MEMORY_LIMIT"));
    assertThat(limitMib(liar, "main"))
        .isEqualTo(variable("liar", "main", "TRANCHE_GPU_MEMORY_MIB"));
    awaitLimited("liar", "Yes");
  }

  /** Fails if NVIDIA's hook has limited nobody, since nothing else keeps a program to its share. */
  @Test
  void podThatTakesAllItCanGet_leavesItsNeighbourItsMemory() {
    NodeGpus gpus = tranche().gpus(BETA);
    for (String name : List.of("greedy", "neighbour")) {
      create(
          PodSpecs.on(
              BETA,
              PodSpecs.annotated(
                  name, Map.of(Names.GPU_FRACTION, "0.3", Names.GPU_UUID, gpus.uuid(0)))));
    }
    Pod greedy = running("greedy");
    Pod neighbour = running("neighbour");
    gpus.load(0, 0, 9000);
    gpus.process(0, pid(greedy), 15_000, asThePluginSees(greedy));
    gpus.process(0, pid(neighbour), 4000, asThePluginSees(neighbour));
    long shareMib = Long.parseLong(limitMib(greedy, "main"));
    assertThat(shareMib).isBetween(4000L, 5000L);
    awaitUse("neighbour", 4000);
    awaitUse("greedy", shareMib);
  }

  private static String asThePluginSees(Pod pod) {
    return cgroup(pod, "main").replace("/sys/fs/cgroup", "/host/cgroup");
  }

  private void awaitUse(String pod, long mib) {
    Await.until(
        "%s to use %d MiB".formatted(pod, mib),
        90,
        () -> usedBytes(pod) == mib << 20,
        () -> pod + " uses " + usedBytes(pod) + " bytes");
  }

  private double usedBytes(String pod) {
    return usedMemory(BETA, pod)
        .map(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .orElse(-1.0);
  }

  /** It has a share of its own, which the app container takes over. */
  @Test
  void initContainer_isLimitedWhileItRuns() {
    Container prepare = PodSpecs.container("prepare");
    prepare.setCommand(List.of("sh", "-c", "until [ -f /tmp/done ]; do sleep 0.2; done"));
    create(
        PodSpecs.annotated(
                "two-steps",
                Map.of(
                    Names.GPU_FRACTION_OF + "prepare", "0.2",
                    Names.GPU_FRACTION_OF + "main", "0.3"))
            .editSpec()
            .addToInitContainers(prepare)
            .endSpec());
    Await.until(
        "the init container to run",
        RUNNING_SECONDS,
        () ->
            get("two-steps").getStatus().getInitContainerStatuses().stream()
                .anyMatch(status -> status.getState().getRunning() != null));
    assertThat(limitMib(get("two-steps"), "prepare"))
        .isEqualTo(variable("two-steps", "prepare", "TRANCHE_GPU_MEMORY_MIB"));
    kubectl("-n", namespace, "exec", "two-steps", "-c", "prepare", "--", "touch", "/tmp/done");
    assertThat(limitMib(running("two-steps"), "main"))
        .isEqualTo(variable("two-steps", "main", "TRANCHE_GPU_MEMORY_MIB"));
  }

  @Test
  void kubeletRestart_leavesLimits_andLaterPodsGetTheirs() {
    create(own("before", "1Gi"));
    assertThat(limitMib(running("before"), "main")).isEqualTo("1024");
    tranche().cluster().restartKubelet(BETA);
    Await.until(
        "the kubelet to run a later pod",
        120,
        () -> {
          if (pods().stream().noneMatch(pod -> pod.getMetadata().getName().equals("after"))) {
            create(own("after", "2Gi"));
          }
          return "Running".equals(get("after").getStatus().getPhase());
        });
    assertThat(limitMib(get("after"), "main")).isEqualTo("2048");
    assertThat(limitMib(get("before"), "main")).isEqualTo("1024");
    awaitLimited("after", "Yes");
    awaitLimited("before", "Yes");
  }

  /** A running pod keeps its limit; a later one gets that of its own share. */
  @Test
  void otherReplicas_underARunningPod_changeNoLimitOfIts() {
    create(PodSpecs.on(BETA, PodSpecs.fraction("before", "0.3")));
    String limit = limitMib(running("before"), "main");
    String ten = editConfig("replicas: 4");
    try {
      Sizing.await(client(), namespace, 4);
      create(PodSpecs.on(BETA, PodSpecs.fraction("after", "0.25")));
      Pod after = running("after");
      assertThat(limitMib(after, "main"))
          .isEqualTo(variable("after", "main", "TRANCHE_GPU_MEMORY_MIB"));
      assertThat(limitMib(get("before"), "main")).isEqualTo(limit);
      awaitLimited("after", "Yes");
      awaitLimited("before", "Yes");
    } finally {
      editConfig(ten);
      Sizing.await(client(), namespace, Tranche.REPLICAS_PER_GPU);
    }
  }

  /** Returns what stood there before. */
  private static String editConfig(String replicas) {
    String before =
        client()
            .configMaps()
            .inNamespace(Tranche.NAMESPACE)
            .withName("tranche-config")
            .get()
            .getData()
            .get("default");
    Matcher number = Pattern.compile("replicas: \\d+").matcher(before);
    assertThat(number.find()).as(before).isTrue();
    tranche().setNodePluginConfig(number.replaceFirst(replicas));
    return number.group();
  }

  @Test
  void gpuOfADriverWithoutLimits_takesNoShares_andSaysWhy() {
    NodeGpus gpus = tranche().gpus(GAMMA);
    gpus.driver("version=" + DRIVER_VERSION);
    try {
      tranche().parts("node-plugin").stream()
          .filter(plugin -> GAMMA.equals(nodeOf(plugin)))
          .forEach(plugin -> client().resource(plugin).withGracePeriod(0).delete());
      Await.until(
          "the event of the node",
          90,
          () ->
              nodeEvents(GAMMA, "GpuMemoryNotLimited")
                  .anyMatch(event -> event.getMessage().contains("the branch R615 or newer")));
      Await.until(
          "no GPU of the node to be free",
          60,
          () -> Integer.valueOf(0).equals(tranche().allocatable().get(GAMMA)));
      create(PodSpecs.on(GAMMA, PodSpecs.fraction("share", "0.3")));
      assertThat(pendingMessage("share")).contains("1 Insufficient nvidia.com/gpu");
      Await.until(
          "the GPUs to say why",
          30,
          () -> gpusOf(GAMMA).contains("the branch R615 or newer"),
          () -> gpusOf(GAMMA));
    } finally {
      gpus.driver("version=" + DRIVER_VERSION + " limits=dmem");
      restartPlugins();
    }
    running("share");
  }

  private static String gpusOf(String node) {
    return tranche().queryReadApi("/api/v1/gpus?node=" + node).toString();
  }

  /** containerd keeps both values, and NVIDIA's hook takes the image's, which comes first. */
  @Test
  void variableOfAnImage_replacesTheLimit_andIsReported() throws IOException {
    create(
        new PodBuilder(PodSpecs.on(BETA, PodSpecs.fraction("liar", "0.3")))
            .editSpec()
            .editFirstContainer()
            .withImage(loadLyingImage())
            .endContainer()
            .endSpec());
    Pod liar = running("liar");
    assertThat(limitMib(liar, "main")).isEqualTo("6000");
    awaitLimited("liar", "Partly");
    Await.until(
        "the event of the node",
        60,
        () ->
            nodeEvents(BETA, "ContainerMemoryNotLimited")
                .anyMatch(event -> event.getMessage().contains("liar")));
  }

  private static String loadLyingImage() throws IOException {
    String image = "tranche-e2e/lying:1";
    Path tar = Files.createTempFile("tranche-lying", ".tar");
    Shell.run(
            """
            set -e
            docker load -q -i %1$s
            container=$(docker create %2$s true)
            docker commit -c 'ENV NVIDIA_GPU_MEMORY_LIMIT=6000' "$container" %3$s
            docker rm "$container"
            docker save -o %4$s %3$s
            docker rmi %3$s
            """
                .formatted(TestImages.busybox(), TestImages.BUSYBOX, image, tar))
        .orFail();
    try {
      tranche().cluster().loadImages(tar);
    } finally {
      Files.delete(tar);
    }
    return image;
  }
}
