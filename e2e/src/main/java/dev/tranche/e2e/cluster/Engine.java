package dev.tranche.e2e.cluster;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.exception.NotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.testcontainers.DockerClientFactory;

/** Calls of the Docker engine that concern more than a single container. */
final class Engine {
  /** The label of everything that belongs to a cluster; its value is the cluster's name. */
  static final String LABEL = "dev.tranche.e2e.cluster";

  /** A folder that every node mounts, so that images reach it without being copied. */
  static final Path IMAGES = Scripts.root().resolve("target/cluster/images");

  private static final Duration ABANDONED = Duration.ofHours(1);

  private Engine() {}

  private static DockerClient docker() {
    // Without this check, Testcontainers would look for an engine for minutes before it fails.
    if (Files.exists(Path.of("/.dockerenv"))
        && ProcessHandle.allProcesses().anyMatch(Engine::isEngine)
        && System.getenv("TESTCONTAINERS_HOST_OVERRIDE") == null) {
      throw new ClusterException(
          "this machine looks like a container but has an engine of its own: source"
              + " .build/prepare.sh and call set_testcontainers before Java is started, as ./check"
              + " and ./demo do");
    }
    return DockerClientFactory.lazyClient();
  }

  private static boolean isEngine(ProcessHandle process) {
    return process.info().command().orElse("").endsWith("/dockerd");
  }

  /** The tar, or its copy, in the folder that every node sees. */
  static Path share(Path tar) {
    var shared = IMAGES.resolve(tar.getFileName() + "-" + Integer.toHexString(tar.hashCode()));
    if (tar.startsWith(IMAGES)) {
      return tar;
    }
    try {
      Files.copy(tar, shared, StandardCopyOption.REPLACE_EXISTING);
      return shared;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void createImagesFolder() {
    try {
      Files.createDirectories(IMAGES);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static String createNetwork(String cluster) {
    createImagesFolder();
    removeAbandonedNetworks();
    return docker()
        .createNetworkCmd()
        .withName("tranche-e2e-" + cluster)
        .withLabels(Map.of(LABEL, cluster))
        .exec()
        .getId();
  }

  /** Removes a cluster's containers with their volumes, and its network, if they still exist. */
  static void remove(String cluster) {
    var mine = Map.of(LABEL, cluster);
    docker().listContainersCmd().withShowAll(true).withLabelFilter(mine).exec().stream()
        .parallel()
        .forEach(container -> removeContainer(container.getId()));
    // Lists all networks and filters them here, because the engine's filter takes only a label's
    // name.
    docker().listNetworksCmd().exec().stream()
        .filter(network -> Objects.equals(network.getLabels().get(LABEL), cluster))
        .forEach(network -> removeNetwork(network.getId()));
  }

  /**
   * Removes networks of processes that were killed. Testcontainers' cleaner removes only the
   * containers of such a process, and an engine has addresses for about thirty networks. A new
   * network may belong to a cluster that is being started.
   */
  private static void removeAbandonedNetworks() {
    var used =
        docker().listContainersCmd().withShowAll(true).exec().stream()
            .map(container -> container.getLabels().get(LABEL))
            .collect(Collectors.toSet());
    Instant before = Instant.now().minus(ABANDONED);
    docker().listNetworksCmd().exec().stream()
        .filter(network -> network.getLabels().containsKey(LABEL))
        .filter(network -> !used.contains(network.getLabels().get(LABEL)))
        .filter(network -> network.getCreated().toInstant().isBefore(before))
        .forEach(network -> removeNetwork(network.getId()));
  }

  private static void removeNetwork(String id) {
    try {
      docker().removeNetworkCmd(id).exec();
    } catch (NotFoundException e) {
      // Another process has removed it already.
    }
  }

  private static void removeContainer(String id) {
    try {
      docker().removeContainerCmd(id).withForce(true).withRemoveVolumes(true).exec();
    } catch (NotFoundException e) {
      // Another process has removed it already.
    }
  }
}
