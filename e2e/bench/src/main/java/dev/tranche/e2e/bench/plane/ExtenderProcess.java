package dev.tranche.e2e.bench.plane;

import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.HttpGet;
import dev.tranche.e2e.plane.ChildProcess;
import dev.tranche.e2e.plane.ControlPlane;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.SecretBuilder;
import io.fabric8.kubernetes.api.model.ServiceAccountBuilder;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/** Our extender as a process beside a {@link ControlPlane}, run as its image runs it. */
public final class ExtenderProcess implements AutoCloseable {
  /** The chart's memory limit: the heap is a part of it. */
  private static final String CONTAINER_LIMIT = "-XX:MaxRAM=512m";

  private final HttpClient http = HttpClient.newHttpClient();
  private final int verbsPort = ControlPlane.freePort();
  private final int streamPort = ControlPlane.freePort();
  private final int metricsPort = ControlPlane.freePort();
  private final ChildProcess process;

  /**
   * @param root the root of the repository, whose image has been built
   * @param flags more flags of the extender
   */
  public ExtenderProcess(Path root, ControlPlane plane, Path log, String... flags)
      throws IOException {
    prepare(plane);
    var command = new ArrayList<String>(ImageFiles.of(Artifacts.of(root)).command("extender"));
    command.add(1, CONTAINER_LIMIT);
    command.addAll(
        List.of(
            "--name=tranche",
            "--namespace=" + SimulatedNodes.NAMESPACE,
            "--node-plugin-service-account="
                + SimulatedNodes.NAMESPACE
                + ":"
                + SimulatedNodes.SERVICE_ACCOUNT,
            "--verbs-address=127.0.0.1:" + verbsPort,
            "--stream-address=127.0.0.1:" + streamPort,
            "--metrics-address=127.0.0.1:" + metricsPort));
    command.addAll(List.of(flags));
    Map<String, String> environment = ImageFiles.environment(root);
    environment.putAll(access(plane));
    process = ChildProcess.start(log, command, environment);
  }

  /**
   * Returns the API server's address and credentials as environment variables, since parsing a
   * kubeconfig would take a while.
   */
  private static Map<String, String> access(ControlPlane plane) {
    return Map.of(
        "KUBERNETES_MASTER", plane.url(),
        "KUBERNETES_CERTS_CA_FILE", plane.certificates().resolve("apiserver.crt").toString(),
        "KUBERNETES_AUTH_TOKEN", ControlPlane.token(),
        "KUBERNETES_AUTH_TRYKUBECONFIG", "false");
  }

  /** Creates what the chart and the webhook would have created. */
  private static void prepare(ControlPlane plane) throws IOException {
    var client = plane.client();
    var in = SimulatedNodes.NAMESPACE;
    client
        .resource(new NamespaceBuilder().withNewMetadata().withName(in).endMetadata().build())
        .unlock()
        .serverSideApply();
    client
        .resource(
            new ServiceAccountBuilder()
                .withNewMetadata()
                .withNamespace(in)
                .withName(SimulatedNodes.SERVICE_ACCOUNT)
                .endMetadata()
                .build())
        .serverSideApply();
    client
        .resource(
            new SecretBuilder()
                .withNewMetadata()
                .withNamespace(in)
                .withName("tranche-extender-tls")
                .endMetadata()
                .withType("kubernetes.io/tls")
                .addToData("tls.crt", base64(plane.certificates().resolve("apiserver.crt")))
                .addToData("tls.key", base64(plane.certificates().resolve("apiserver.key")))
                .build())
        .serverSideApply();
  }

  private static String base64(Path file) throws IOException {
    return Base64.getEncoder().encodeToString(Files.readAllBytes(file));
  }

  public int streamPort() {
    return streamPort;
  }

  public ChildProcess process() {
    return process;
  }

  /** Returns the configuration for {@link ControlPlane#startScheduler}, as in our chart. */
  public String schedulerExtender() {
    return schedulerExtender(verbsPort);
  }

  /** The same for another extender with our verbs. */
  public static String schedulerExtender(int port) {
    return """
    extenders:
      - urlPrefix: http://127.0.0.1:%d
        filterVerb: filter
        prioritizeVerb: prioritize
        bindVerb: bind
        weight: 1
        nodeCacheCapable: true
        ignorable: false
        httpTimeout: 10s
        managedResources: [{name: nvidia.com/gpu, ignoredByScheduler: false}]
    """
        .formatted(port);
  }

  /**
   * Returns one more entry of the list, which scores nodes for pods without GPUs under policy
   * {@code packed}.
   */
  public String schedulerPacker() {
    return """
      - urlPrefix: http://127.0.0.1:%d
        prioritizeVerb: pack
        weight: 1
        nodeCacheCapable: true
        ignorable: true
        httpTimeout: 1s
    """
        .formatted(verbsPort);
  }

  /** Whether its readiness probe would succeed. */
  public boolean ready() {
    process.requireAlive();
    try {
      return get("/readyz").statusCode() == 200;
    } catch (IOException notYet) {
      return false;
    }
  }

  /** Returns whether exactly {@code nodes} nodes report to it. */
  public boolean hasStreams(int nodes) {
    try {
      return metrics().lines().anyMatch(("tranche_extender_streams " + nodes + ".0")::equals);
    } catch (IOException notYet) {
      return false;
    }
  }

  /** What Prometheus would read. */
  public String metrics() throws IOException {
    return get("/metrics").body();
  }

  private HttpResponse<String> get(String path) throws IOException {
    return HttpGet.of(http, URI.create("http://127.0.0.1:" + metricsPort + path));
  }

  @Override
  public void close() {
    process.close();
  }
}
