package dev.tranche.e2e.cluster;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.readiness.Readiness;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.k3s.K3sContainer;
import org.testcontainers.lifecycle.Startables;

/** A running Kubernetes cluster of one server and any number of agents, in containers. */
public final class Cluster implements AutoCloseable {
  private static final Duration READY = Duration.ofMinutes(2);
  private static final Duration KUBELET_BACK = Duration.ofMinutes(1);

  /** Written by the container runtime {@code nvidia}: see {@code e2e/nvidia-runtime}. */
  private static final String INJECTIONS = "/var/log/tranche-e2e/injected";

  private final Builder plan;
  private final Distribution distribution;
  private final K3sContainer server;
  private final Map<String, GenericContainer<?>> nodes = new LinkedHashMap<>();
  private final KubernetesClient client;

  private Cluster(Builder plan, Distribution distribution, Containers containers) {
    this.plan = plan;
    this.distribution = distribution;
    var first = plan.nodes.getFirst();
    server = containers.server(first);
    nodes.put(first.name(), server);
    plan.nodes.stream()
        .skip(1)
        .forEach(node -> nodes.put(node.name(), containers.agent(node, first)));
    try {
      Startables.deepStart(nodes.values()).join();
      client = connect(kubeconfigYaml());
      await("all nodes to be Ready", READY, this::allReady);
      await("pods to be admitted", READY, this::hasDefaultServiceAccount);
      createRuntimeClass();
    } catch (RuntimeException e) {
      throw failedStart(e);
    }
  }

  public static Builder builder() {
    return new Builder();
  }

  /** Returns the administrator's kubeconfig, for use on this machine. */
  public String kubeconfigYaml() {
    return server.getKubeConfigYaml();
  }

  public KubernetesClient client() {
    return client;
  }

  /** The server's name first. */
  public List<String> nodeNames() {
    return List.copyOf(nodes.keySet());
  }

  /** Runs a command on a node. */
  public Output exec(String node, String... command) {
    return exec(container(node), command);
  }

  /** Runs kubectl as the administrator, on the server. */
  public Output kubectl(String... arguments) {
    var command = new ArrayList<>(List.of("k3s", "kubectl"));
    command.addAll(List.of(arguments));
    return exec(server, command.toArray(String[]::new));
  }

  /** Kills the kubelet and waits until the node's next one answers. Containers run on. */
  public void restartKubelet(String node) {
    exec(node, "sh", "-c", distribution.killKubelet()).orFail("killing the kubelet of " + node);
    await("the kubelet of " + node + " to be back", KUBELET_BACK, () -> kubeletAnswers(node));
  }

  /** Kills the server's kube-scheduler; the next one reads its configuration anew. */
  public void restartScheduler() {
    exec(nodeNames().getFirst(), "sh", "-c", distribution.killScheduler())
        .orFail("killing kube-scheduler");
    await("the server to be back", KUBELET_BACK, () -> kubeletAnswers(nodeNames().getFirst()));
  }

  /** Where a NodePort Service answers on this machine; the builder was told of the port. */
  public String nodePortUrl(int nodePort) {
    return "http://" + server.getHost() + ":" + server.getMappedPort(nodePort);
  }

  /** Puts the images of a tar, as {@code docker save} writes it, on all nodes. */
  public void loadImages(Path tar) {
    var shared = Engine.share(tar.toAbsolutePath());
    nodes.keySet().parallelStream()
        .forEach(node -> importTar(node, Containers.SHARED + "/" + shared.getFileName()));
  }

  /** What the runtime {@code nvidia} would have given to each container that a node has started. */
  public List<Injection> injections(String node) {
    var out = exec(node, "sh", "-c", "cat " + INJECTIONS + "/*.json 2>/dev/null || true").out();
    return out.lines().map(Cluster::injection).toList();
  }

  /** Removes all of it, unless the builder was told to keep it running. */
  @Override
  public void close() {
    client.close();
    if (!plan.kept) {
      Engine.remove(plan.name);
    }
  }

  /** As kubectl does, the client takes the namespace {@code default} where none is named. */
  private static KubernetesClient connect(String kubeconfigYaml) {
    var config = Config.fromKubeconfig(kubeconfigYaml);
    config.setNamespace("default");
    return new KubernetesClientBuilder().withConfig(config).build();
  }

  private GenericContainer<?> container(String node) {
    var container = nodes.get(node);
    if (container == null) {
      throw new IllegalArgumentException(
          "no node '%s'; nodes are %s".formatted(node, nodes.keySet()));
    }
    return container;
  }

  static Output exec(GenericContainer<?> container, String... command) {
    try {
      var result = container.execInContainer(command);
      return new Output(result.getExitCode(), result.getStdout(), result.getStderr());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClusterException("interrupted in " + Arrays.toString(command), e);
    }
  }

  private void importTar(String node, String onTheNode) {
    exec(node, "k3s", "ctr", "-n", "k8s.io", "images", "import", onTheNode)
        .orFail("importing %s on %s".formatted(onTheNode, node));
  }

  private static Injection injection(String json) {
    try {
      return new ObjectMapper().readValue(json, Injection.class);
    } catch (IOException e) {
      throw new UncheckedIOException(json, e);
    }
  }

  private boolean allReady() {
    var known = client.nodes().list().getItems();
    return known.size() == nodes.size() && known.stream().allMatch(Readiness::isNodeReady);
  }

  /** The controllers create it a moment after the namespace; before that pods are refused. */
  private boolean hasDefaultServiceAccount() {
    return client.serviceAccounts().inNamespace("default").withName("default").get() != null;
  }

  private boolean kubeletAnswers(String node) {
    return "ok".equals(client.raw("/api/v1/nodes/" + node + "/proxy/healthz"));
  }

  /** Newer K3s creates it by itself. */
  private void createRuntimeClass() {
    HasMetadata runtimeClass =
        new io.fabric8.kubernetes.api.model.node.v1.RuntimeClassBuilder()
            .withNewMetadata()
            .withName("nvidia")
            .endMetadata()
            .withHandler("nvidia")
            .build();
    if (client.resource(runtimeClass).get() == null) {
      client.resource(runtimeClass).create();
    }
  }

  private static void await(String what, Duration limit, BooleanSupplier condition) {
    long deadline = System.nanoTime() + limit.toNanos();
    while (!holds(condition)) {
      if (System.nanoTime() > deadline) {
        throw new ClusterException("waited %s for %s".formatted(limit, what));
      }
      pause();
    }
  }

  static void pause() {
    try {
      Thread.sleep(100);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClusterException("interrupted while waiting for the cluster", e);
    }
  }

  /** Evaluates a condition, which counts as false while the server does not answer. */
  private static boolean holds(BooleanSupplier condition) {
    try {
      return condition.getAsBoolean();
    } catch (KubernetesClientException e) {
      return false;
    }
  }

  private ClusterException failedStart(RuntimeException cause) {
    var reasons =
        Stream.<Throwable>iterate(cause, Objects::nonNull, Throwable::getCause)
            .map(Throwable::getMessage)
            .filter(Objects::nonNull)
            .distinct()
            .collect(Collectors.joining("\n"));
    var logs =
        nodes.entrySet().stream()
            .map(node -> "=== node " + node.getKey() + "\n" + lastLogLines(node.getValue()))
            .collect(Collectors.joining("\n"));
    Engine.remove(plan.name);
    return new ClusterException("the cluster did not start: " + reasons + "\n" + logs, cause);
  }

  private String lastLogLines(GenericContainer<?> container) {
    try {
      return ServerReady.lastLogLines(container, distribution);
    } catch (RuntimeException e) {
      return "(no logs: " + e.getMessage() + ")";
    }
  }

  /** Builds a cluster. The defaults are one node, a random name, and removal by {@link #close}. */
  public static final class Builder {
    private final List<Node> nodes = new ArrayList<>();
    final List<Path> imageTars = new ArrayList<>();
    final List<String> serverArgs = new ArrayList<>();
    final List<String> kubeletArgs = new ArrayList<>();
    final List<Integer> nodePorts = new ArrayList<>();
    String name = "test-" + UUID.randomUUID().toString().substring(0, 8);
    boolean kept;
    boolean quickKubelets;

    private Builder() {}

    /** The first one is the server. */
    public Builder node(Node node) {
      nodes.add(node);
      return this;
    }

    /** Images that nodes have from the start: a tar as {@code docker save} writes it. */
    public Builder imageTar(Path tar) {
      imageTars.add(tar);
      return this;
    }

    /** One more option of {@code k3s server}, such as {@code --kube-scheduler-arg=v=5}. */
    public Builder serverArg(String option) {
      serverArgs.add(option);
      return this;
    }

    /** One more option of every kubelet, such as {@code root-dir=/data/kubelet}. */
    public Builder kubeletArg(String option) {
      kubeletArgs.add(option);
      return this;
    }

    /** Makes a NodePort reachable from this machine: {@link Cluster#nodePortUrl}. */
    public Builder nodePort(int nodePort) {
      nodePorts.add(nodePort);
      return this;
    }

    /** Unique on this machine; an older cluster of that name is removed. */
    public Builder name(String unique) {
      name = unique;
      return this;
    }

    /** Lets kubelets report devices and read ConfigMaps sooner than by default. */
    public Builder withQuickKubelets() {
      quickKubelets = true;
      return this;
    }

    /** Lets the cluster outlive {@link Cluster#close} and this process. */
    public Builder keepRunning() {
      kept = true;
      return this;
    }

    /** Returns when all nodes are Ready. */
    public Cluster start() {
      if (nodes.isEmpty()) {
        nodes.add(Node.of("server"));
      }
      var distribution = Distribution.choose(KubernetesVersion.ofClusters());
      Engine.remove(name);
      var network = Engine.createNetwork(name);
      var token = UUID.randomUUID().toString();
      return new Cluster(this, distribution, new Containers(this, distribution, network, token));
    }
  }
}
