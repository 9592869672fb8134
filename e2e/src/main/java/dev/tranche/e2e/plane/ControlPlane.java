package dev.tranche.e2e.plane;

import dev.tranche.e2e.install.Await;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Stock etcd, kube-apiserver and kube-scheduler as processes of this machine, without kubelets and
 * controllers: nodes and pods are objects that a benchmark makes. Everything listens on loopback
 * only and is gone after {@link #close}.
 */
public final class ControlPlane implements AutoCloseable {
  private static final int READY_LIMIT_S = 60;

  /** A pod at the cost limit of a policy takes the API server seconds on a busy machine. */
  private static final int REQUEST_LIMIT_MS = 60_000;

  private static final String TOKEN = "benchmark";
  private static final Set<Integer> usedPorts = ConcurrentHashMap.newKeySet();

  private final Path folder;
  private final Path binaries;
  private final int apiPort = freePort();
  private final List<ChildProcess> parts = new ArrayList<>();
  private final KubernetesClient client;
  private @Nullable ChildProcess scheduler;

  /**
   * @param binaries holds {@code etcd} and {@code kube}
   * @param folder empty, for data and logs
   */
  public ControlPlane(Path binaries, Path folder) throws IOException {
    this(binaries, folder, List.of());
  }

  /**
   * The same with more flags of kube-apiserver.
   *
   * @param flags each with its value
   */
  public ControlPlane(Path binaries, Path folder, List<String> flags) throws IOException {
    this.binaries = binaries;
    this.folder = Files.createDirectories(folder);
    int etcdPort = freePort();
    parts.add(startEtcd(etcdPort));
    parts.add(startApiServer(etcdPort, flags));
    client = new KubernetesClientBuilder().withConfig(config()).build();
    Await.until(
        "kube-apiserver to be ready", READY_LIMIT_S, this::isReady, () -> "logs are in " + folder);
  }

  private ChildProcess startEtcd(int port) throws IOException {
    String peers = "http://127.0.0.1:" + freePort();
    return ChildProcess.start(
        folder.resolve("etcd.log"),
        List.of(
            binaries.resolve("etcd").toString(),
            "--name=bench",
            "--data-dir=" + folder.resolve("etcd"),
            "--listen-client-urls=http://127.0.0.1:" + port,
            "--advertise-client-urls=http://127.0.0.1:" + port,
            "--listen-peer-urls=" + peers,
            "--initial-advertise-peer-urls=" + peers,
            "--initial-cluster=bench=" + peers,
            "--quota-backend-bytes=4294967296",
            "--unsafe-no-fsync"));
  }

  private ChildProcess startApiServer(int etcdPort, List<String> flags) throws IOException {
    Path key = ServiceAccountKey.write(folder.resolve("service-account.key"));
    Path tokens = Files.writeString(folder.resolve("tokens"), TOKEN + ",bench,1,system:masters\n");
    var command =
        new ArrayList<>(
            List.of(
                program("kube-apiserver"),
                "--etcd-servers=http://127.0.0.1:" + etcdPort,
                "--bind-address=127.0.0.1",
                "--secure-port=" + apiPort,
                "--cert-dir=" + folder.resolve("certificates"),
                "--service-cluster-ip-range=10.96.0.0/16",
                "--service-account-issuer=https://kubernetes.default.svc",
                "--service-account-signing-key-file=" + key,
                "--service-account-key-file=" + key,
                "--token-auth-file=" + tokens,
                "--authorization-mode=RBAC",
                "--allow-privileged=true",
                "--enable-priority-and-fairness=false",
                "--max-requests-inflight=0",
                "--max-mutating-requests-inflight=0",
                // No controller creates default ServiceAccounts, or removes the taint of a new
                // node.
                "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"));
    command.addAll(flags);
    return ChildProcess.start(folder.resolve("kube-apiserver.log"), command);
  }

  /** Returns a link to {@code kube}, which runs as the program by whose name it is called. */
  public String program(String name) throws IOException {
    Path link = folder.resolve(name);
    if (!Files.exists(link)) {
      Files.createSymbolicLink(link, binaries.resolve("kube"));
    }
    return link.toString();
  }

  /**
   * Starts a kube-scheduler.
   *
   * @param configuration the rest of a KubeSchedulerConfiguration, after its clientConnection
   */
  public void startScheduler(String configuration) throws IOException {
    startScheduler(Path.of(program("kube-scheduler")), configuration);
  }

  /** The same with a kube-scheduler of another release. */
  public void startScheduler(Path program, String configuration) throws IOException {
    Path file =
        Files.writeString(
            folder.resolve("scheduler.yaml"),
            """
            apiVersion: kubescheduler.config.k8s.io/v1
            kind: KubeSchedulerConfiguration
            clientConnection: {kubeconfig: %s, qps: 1000, burst: 2000}
            leaderElection: {leaderElect: false}
            """
                    .formatted(kubeconfig())
                + configuration);
    scheduler =
        ChildProcess.start(
            schedulerLog(),
            List.of(program.toString(), "--config=" + file, "--secure-port=0", "--v=0"));
  }

  /** Returns the log of the kube-scheduler that was started last. */
  public Path schedulerLog() {
    return folder.resolve("kube-scheduler.log");
  }

  public void stopScheduler() {
    if (scheduler != null) {
      scheduler.close();
      scheduler = null;
    }
  }

  /** Writes a kubeconfig for other processes. */
  public Path kubeconfig() throws IOException {
    return Files.writeString(
        folder.resolve("kubeconfig"),
        """
        apiVersion: v1
        kind: Config
        current-context: bench
        clusters: [{name: bench, cluster: {server: "https://127.0.0.1:%d", insecure-skip-tls-verify: true}}]
        users: [{name: bench, user: {token: %s}}]
        contexts: [{name: bench, context: {cluster: bench, user: bench}}]
        """
            .formatted(apiPort, TOKEN));
  }

  private Config config() {
    return new ConfigBuilder()
        .withMasterUrl("https://127.0.0.1:" + apiPort)
        .withOauthToken(TOKEN)
        .withTrustCerts(true)
        .withRequestTimeout(REQUEST_LIMIT_MS)
        .withNamespace("default")
        .build();
  }

  public KubernetesClient client() {
    return client;
  }

  /** Writes a Binding, as an extender does. */
  public void bind(String namespace, String pod, String uid, String node) {
    String binding =
        """
        {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "%s", "uid": "%s"},
         "target": {"kind": "Node", "name": "%s"}}"""
            .formatted(pod, uid, node);
    client.raw("/api/v1/namespaces/" + namespace + "/pods/" + pod + "/binding", "POST", binding);
  }

  public String url() {
    return "https://127.0.0.1:" + apiPort;
  }

  public static String token() {
    return TOKEN;
  }

  /**
   * Returns the folder of the API server's own certificate, which names this machine: {@code
   * apiserver.crt} and {@code .key}.
   */
  public Path certificates() {
    return folder.resolve("certificates");
  }

  private boolean isReady() {
    parts.forEach(ChildProcess::requireAlive);
    try {
      return "ok".equals(client.raw("/readyz"))
          && client.namespaces().withName("default").get() != null;
    } catch (KubernetesClientException notYet) {
      return false;
    }
  }

  /**
   * Returns a free port, never the same one twice. It is below those that Linux gives to clients
   * and to whoever listens on port 0, so that none of them can take it before it is used.
   */
  public static int freePort() {
    while (true) {
      int port = ThreadLocalRandom.current().nextInt(20_000, 30_000);
      try (var _ = new ServerSocket(port)) {
        if (usedPorts.add(port)) {
          return port;
        }
      } catch (IOException taken) {
        // Another one may be free.
      }
    }
  }

  @Override
  public void close() {
    stopScheduler();
    client.close();
    parts.reversed().forEach(ChildProcess::close);
  }
}
