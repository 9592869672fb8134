package dev.tranche.e2e.scenario;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.tranche.api.Names;
import dev.tranche.e2e.cluster.Node;
import dev.tranche.e2e.cluster.NvidiaToolkit;
import dev.tranche.e2e.gpu.NodeGpus;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
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
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

/**
 * Memory limits that NVIDIA's own container runtime and hook set, for containers of a real kubelet
 * and containerd. The driver is simulated. Where the machine has cgroup v1, runc joins the cgroup
 * v2 that the nodes mount beside it.
 */
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
    ContainerStatus status =
        Stream.concat(
                pod.getStatus().getContainerStatuses().stream(),
                pod.getStatus().getInitContainerStatuses().stream())
            .filter(each -> each.getName().equals(container))
            .findFirst()
            .orElseThrow();
    String id = status.getContainerID().replace("containerd://", "");
    String root = hybrid ? UNIFIED : "/sys/fs/cgroup";
    String script =
        """
        cgroup=$(find %1$s -type d -name '*%2$s*' | head -n 1)
        test -n "$cgroup" || { echo "no cgroup of %2$s below %1$s" >&2; exit 1; }
        key=$(stat -c %%d.%%i "$cgroup") || exit 1
        cat %3$s/gpus.state.limit.*.$key 2>/dev/null || true
        """
            .formatted(root, id, LIMITS);
    String limit = onTheNode(nodeOf(pod), script);
    if (limit.isEmpty()) {
      return "";
    }
    String[] softAndHard = limit.split(" ");
    assertThat(softAndHard[0]).as("soft limit of %s", container).isEqualTo("0");
    return Long.toString(Long.parseLong(softAndHard[1]) >> 20);
  }

  private String variable(String pod, String container, String name) {
    return tranche()
        .cluster()
        .kubectl("-n", namespace, "exec", pod, "-c", container, "--", "sh", "-c", "echo $" + name)
        .orFail("reading " + name + " in " + pod)
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
    tranche()
        .parts("node-plugin")
        .forEach(plugin -> tranche().client().resource(plugin).withGracePeriod(0).delete());
    Await.until(
        "the plugins to serve again",
        120,
        () ->
            tranche().allocatable().values().stream().allMatch(replicas -> replicas > 0)
                && tranche().parts("node-plugin").stream().allMatch(Readiness::isPodReady));
    awaitLimited("small", "Yes");
    awaitLimited("free", "OptedOut");
    assertThatThrownBy(() -> create(own("borrower", "10Gi")))
        .hasMessageContaining("is above what container \"main\" is granted");
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
    tranche()
        .client()
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
}
