package dev.tranche.e2e.cluster;

import com.github.dockerjava.api.command.CreateContainerCmd;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.testcontainers.containers.BindMode;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.Network;
import org.testcontainers.k3s.K3sContainer;
import org.testcontainers.utility.DockerImageName;

/** Creates the containers of a cluster's nodes, with what K3s needs, whichever image it is. */
final class Containers {
  private static final String IMAGES = "/var/lib/rancher/k3s/agent/images/";
  static final String SHARED = "/opt/tranche-e2e/images";
  private static final Duration STARTUP = Duration.ofMinutes(3);

  /** By default a kubelet reports its devices every 10 s, and reads ConfigMaps every minute. */
  private static final List<String> QUICK_KUBELET =
      List.of("node-status-update-frequency=1s", "sync-frequency=10s");

  private final Cluster.Builder plan;
  private final Distribution distribution;
  private final Network network;
  private final String token;

  Containers(Cluster.Builder plan, Distribution distribution, String networkId, String token) {
    this.plan = plan;
    this.distribution = distribution;
    this.network = new ExistingNetwork(networkId);
    this.token = token;
  }

  K3sContainer server(Node node) {
    var image =
        DockerImageName.parse(distribution.image()).asCompatibleSubstituteFor("rancher/k3s");
    var server = new K3sContainer(image);
    var command = command("server", node);
    command.add("--disable=traefik,metrics-server,servicelb");
    command.add("--tls-san=" + server.getHost());
    command.add("--tls-san=" + node.name());
    command.addAll(plan.serverArgs);
    server.withCommand(command.toArray(String[]::new));
    server.waitingFor(new ServerReady(server, distribution, STARTUP));
    plan.nodePorts.forEach(server::addExposedPort);
    common(server, node);
    return server;
  }

  GenericContainer<?> agent(Node node, Node server) {
    var agent =
        new GenericContainer<>(DockerImageName.parse(distribution.image()))
            .withCommand(command("agent", node).toArray(String[]::new))
            .withEnv("K3S_URL", "https://" + server.name() + ":6443")
            .withPrivilegedMode(true)
            .withTmpFs(Map.of("/run", "", "/var/run", ""));
    common(agent, node);
    return agent;
  }

  private List<String> command(String role, Node node) {
    var command = new ArrayList<>(List.of(role, "--node-name=" + node.name()));
    plan.kubeletArgs.forEach(arg -> command.add("--kubelet-arg=" + arg));
    if (plan.quickKubelets) {
      QUICK_KUBELET.forEach(arg -> command.add("--kubelet-arg=" + arg));
    }
    node.labels().forEach((key, value) -> command.add("--node-label=" + key + "=" + value));
    return command;
  }

  private void common(GenericContainer<?> container, Node node) {
    container
        .withEnv("K3S_TOKEN", token)
        .withNetwork(network)
        .withNetworkAliases(node.name())
        .withLabel(Engine.LABEL, plan.name)
        .withReuse(plan.kept)
        .withCreateContainerCmdModifier(command -> customize(command, node));
    bind(container, Map.entry(SHARED, Engine.IMAGES));
    mounts(node).forEach(mount -> bind(container, mount));
  }

  private void customize(CreateContainerCmd command, Node node) {
    command.withHostName(node.name());
    distribution.prepare(command);
  }

  private Stream<Map.Entry<String, Path>> mounts(Node node) {
    var images = plan.imageTars.stream().map(tar -> Map.entry(IMAGES + imageName(tar), tar));
    return Stream.concat(Stream.concat(images, node.mounts().entrySet().stream()), gpu(node));
  }

  /** Names a tar by the hash of its path, since tars of the same name lie in different folders. */
  private static String imageName(Path tar) {
    return Integer.toHexString(tar.hashCode()) + ".tar";
  }

  private static Stream<Map.Entry<String, Path>> gpu(Node node) {
    if (node.driver() == null) {
      return Stream.empty();
    }
    var runtime = Scripts.values(Map.of(), "e2e/build.sh", "nvidia-runtime").get("nvidia-runtime");
    return Stream.of(
        Map.entry(Node.DRIVER_ROOT, node.driver()),
        Map.entry(NvidiaToolkit.FOLDER, Path.of(String.valueOf(runtime))));
  }

  private static void bind(GenericContainer<?> container, Map.Entry<String, Path> mount) {
    var ofThisMachine = mount.getValue().toAbsolutePath().toString();
    container.withFileSystemBind(ofThisMachine, mount.getKey(), BindMode.READ_WRITE);
  }

  /** A network that outlives Testcontainers' session. */
  private record ExistingNetwork(String id) implements Network {
    @Override
    public String getId() {
      return id;
    }

    @Override
    public void close() {}
  }
}
