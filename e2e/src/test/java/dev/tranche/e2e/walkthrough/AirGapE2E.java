package dev.tranche.e2e.walkthrough;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.e2e.cluster.Cluster;
import dev.tranche.e2e.cluster.KubernetesVersion;
import dev.tranche.e2e.cluster.Node;
import dev.tranche.e2e.cluster.Output;
import dev.tranche.e2e.cluster.TestImages;
import dev.tranche.e2e.gpu.Model;
import dev.tranche.e2e.gpu.NodeGpus;
import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.PodSpecs;
import dev.tranche.e2e.install.Shell;
import dev.tranche.e2e.release.LocalRegistry;
import io.fabric8.kubernetes.api.model.Pod;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Three nodes that have no image of Tranche and reach nothing but a registry, into which the
 * commands of {@code docs/platform-engineer.md} copy a release.
 */
@Tag("matrix")
@Order(1_180)
class AirGapE2E {
  private static final Path ROOT = Walkthrough.ROOT;
  private static final List<String> NODES = List.of("one", "two", "three");

  @Test
  void page_installsFromARegistry_withNothingElseReachable() throws Exception {
    var artifacts = Artifacts.of(ROOT);
    Path folder =
        Files.createDirectories(ROOT.resolve("target/air-gap").resolve(UUID.randomUUID() + ""));
    try (var registry = LocalRegistry.start("0.0.0.0");
        var other = new ServerSocket(0)) {
      String host = hostInDefaultNetwork();
      String address = host + ":" + registry.port();
      try (var cluster = start(folder, artifacts, address)) {
        for (String node : NODES) {
          cluster
              .exec(node, "sh", "-c", close(host, registry.port()))
              .orFail("closing the network of " + node);
          assertThat(connects(cluster, node, address)).as("the registry").isTrue();
          assertThat(connects(cluster, node, host + ":" + other.getLocalPort()))
              .as("another port of this machine")
              .isFalse();
        }
        putRelease(folder, artifacts);
        var page = Page.of(ROOT, "../platform-engineer.md");
        var terminal =
            Terminal.open(folder.resolve("terminal"), artifacts, cluster.kubeconfigYaml());
        program(terminal.folder().resolve("bin/helm"), helm(artifacts));
        program(
            terminal.folder().resolve("bin/crane"), "exec %s \"$@\"".formatted(registry.crane()));
        terminal.set("REGISTRY", address);
        type(terminal, folder, page.commands("Without the internet"), cluster);

        long begin = System.nanoTime();
        type(terminal, folder, page.commands("Install without the internet"), cluster);
        runFraction(cluster, registry.crane(), address);
        long seconds = (System.nanoTime() - begin) / 1_000_000_000;
        String result =
            "%d s from helm install to a running fraction: 3 nodes, no image on them, Kubernetes %s"
                .formatted(seconds, KubernetesVersion.ofClusters());
        System.out.println("AirGapE2E: " + result);
        Files.writeString(ROOT.resolve("target/air-gap/seconds.txt"), result + "\n");
      }
    }
  }

  /** By the interface, since an engine that has just been installed names no gateway. */
  private static String hostInDefaultNetwork() throws IOException {
    String option = "{{index .Options \"com.docker.network.bridge.name\"}}";
    var bridge =
        NetworkInterface.getByName(Shell.docker("network", "inspect", "bridge", "-f", option));
    return bridge
        .inetAddresses()
        .filter(Inet4Address.class::isInstance)
        .findFirst()
        .orElseThrow()
        .getHostAddress();
  }

  /** For the node and its pods; what the cluster itself needs is its own networks. */
  private static String close(String host, int port) {
    return """
    set -e
    own=$(ip -o -4 addr show eth0 | sed 's/.*inet \\([^ ]*\\).*/\\1/')
    iptables -N AIR-GAP
    for to in "$own" 10.42.0.0/16 10.43.0.0/16; do iptables -A AIR-GAP -d "$to" -j RETURN; done
    iptables -A AIR-GAP -d %s -p tcp --dport %d -j RETURN
    iptables -A AIR-GAP -j REJECT
    iptables -I OUTPUT -o eth0 -j AIR-GAP
    iptables -I FORWARD -o eth0 -j AIR-GAP
    """
        .formatted(host, port);
  }

  /** With only the images that the cluster itself has. */
  private static Cluster start(Path folder, Artifacts artifacts, String address)
      throws IOException {
    Path hosts = Files.createDirectories(folder.resolve("certs.d").resolve(address));
    Files.writeString(
        hosts.resolve("hosts.toml"),
        "[host.\"http://%s\"]\ncapabilities = [\"pull\", \"resolve\"]\n".formatted(address));
    Path k3s = Files.createDirectories(folder.resolve("k3s"));
    Path mirrors =
        Files.writeString(
            k3s.resolve("registries.yaml"),
            "mirrors: {\"%1$s\": {endpoint: [\"http://%1$s\"]}}\n".formatted(address));
    var builder = Cluster.builder().withQuickKubelets();
    for (String node : NODES) {
      Path driver = folder.resolve(node);
      NodeGpus.create(driver, artifacts.fakeNvml(), node, List.of(Model.T4));
      builder.node(
          Node.of(node)
              .driver(driver)
              .mount(folder.resolve("certs.d"), "/etc/containerd/certs.d")
              .mount(mirrors, "/etc/rancher/k3s/registries.yaml"));
    }
    return builder.start();
  }

  private static boolean connects(Cluster cluster, String node, String address) {
    String url = "http://" + address + "/v2/";
    return cluster
            .exec(
                node,
                "sh",
                "-c",
                "if command -v curl >/dev/null; then curl -sS -m 5 %1$s; else wget -q -T 5 -O - %1$s; fi"
                    .formatted(url))
            .exitCode()
        == 0;
  }

  /** As a release has it: a list of images, each image as a file, and the chart. */
  private static void putRelease(Path folder, Artifacts artifacts) throws IOException {
    String images =
        Shell.output(ROOT.resolve(".build/images.sh") + " " + ROOT.resolve("deploy"))
            .replace(
                "kube-scheduler:" + KubernetesVersion.DEFAULT,
                "kube-scheduler:" + KubernetesVersion.ofClusters());
    Files.writeString(folder.resolve("images.txt"), images);
    var names = images.lines().filter(line -> !line.startsWith("#")).toList();
    assertThat(names).hasSize(2);
    for (String image : names) {
      Files.createSymbolicLink(
          folder.resolve(image.replaceAll("[/:]", "_") + ".tar"),
          image.contains("kube-scheduler") ? TestImages.kubeScheduler() : artifacts.imageTar());
    }
    Shell.output(
        "%s package %s -d %s".formatted(artifacts.tool("helm"), artifacts.chart(), folder));
  }

  /** Where the driver is simulated, and the registry has no TLS. */
  private static String helm(Artifacts artifacts) {
    return """
    case $1 in
      install) exec %1$s "$@" --plain-http --set nvidiaDriverRoot=%2$s ;;
      push) exec %1$s "$@" --plain-http ;;
      *) exec %1$s "$@" ;;
    esac
    """
        .formatted(artifacts.tool("helm"), Node.DRIVER_ROOT);
  }

  private static void program(Path file, String script) throws IOException {
    Files.writeString(file, "#!/usr/bin/env bash\n" + script + "\n");
    file.toFile().setExecutable(true);
  }

  private static void type(Terminal terminal, Path folder, String commands, Cluster cluster) {
    Output output = terminal.type("cd " + folder + "\n" + commands);
    if (output.exitCode() != 0) {
      output.orFail(
          commands
              + cluster.kubectl("get", "pods", "-A", "-o", "wide").out()
              + cluster.kubectl("get", "events", "-A").out());
    }
  }

  private static void runFraction(Cluster cluster, String crane, String address)
      throws IOException {
    String image = address + "/" + PodSpecs.IMAGE;
    Shell.output("%s push %s %s".formatted(crane, TestImages.busybox(), image));
    var pods = cluster.client().pods().inNamespace("default");
    pods.resource(
            PodSpecs.fraction("first", "0.3")
                .editSpec()
                .editFirstContainer()
                .withImage(image)
                .endContainer()
                .endSpec()
                .build())
        .create();
    Await.until(
        "the fraction to run",
        180,
        () -> "Running".equals(phase(pods.withName("first").get())),
        () -> cluster.kubectl("describe", "pod", "first").out());
  }

  private static String phase(Pod pod) {
    return pod.getStatus().getPhase();
  }
}
