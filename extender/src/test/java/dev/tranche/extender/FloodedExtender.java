package dev.tranche.extender;

import dev.tranche.process.listen.ClientSockets;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;

/**
 * The process that {@link FloodedExtenderIT} and {@link HonestLoadIT} start with the options of the
 * image. It prints the ports, then the used heap for each byte of its input. The API server is in
 * the process of the test, so that the heap is the extender's alone. Unless it runs as shipped,
 * time limits are long, so that nothing ends before the heap is read.
 */
final class FloodedExtender {
  /** May read the read API. */
  static final String VIEWER = "user-viewer";

  private FloodedExtender() {}

  /**
   * Starts the process.
   *
   * @param mode "shipped" for the shipped time limits, "service" for these and mode service,
   *     "patient" for long ones
   * @param cluster which reviews tokens
   */
  static Process start(String mode, MockCluster cluster) throws Exception {
    cluster.reviewAccess();
    cluster.mayView(VIEWER);
    cluster.certificate();
    if (mode.equals("service")) {
      cluster.verbsService();
    }
    var extender =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "@" + Path.of("../deploy/image/extender.args").toAbsolutePath(),
                "-XX:MaxRAM=512m",
                "-cp",
                System.getProperty("java.class.path"),
                FloodedExtender.class.getName(),
                mode)
            .redirectError(ProcessBuilder.Redirect.DISCARD);
    extender.environment().put("KUBERNETES_MASTER", cluster.client().getMasterUrl().toString());
    extender.environment().put("KUBERNETES_TRUST_CERTIFICATES", "true");
    extender.environment().put("KUBERNETES_AUTH_TRYKUBECONFIG", "false");
    extender.environment().put("KUBERNETES_AUTH_TRYSERVICEACCOUNT", "false");
    return extender.start();
  }

  /**
   * @param args the mode
   */
  public static void main(String[] args) throws Exception {
    Extender extender = extender(args[0], ExtenderMain.openClient());
    extender.start().toCompletionStage().toCompletableFuture().get();
    ExtenderIT.until(
        Duration.ofSeconds(60),
        () -> extender.streamPort() > 0 && extender.apiPort() > 0 && extender.verbsPort() > 0);
    System.out.println(
        "ports %d %d %d %d %d"
            .formatted(
                extender.streamPort(),
                extender.apiPort(),
                extender.apiLocalPort(),
                extender.metricsPort(),
                extender.verbsPort()));
    serve();
    System.exit(0);
  }

  private static Extender extender(String mode, KubernetesClient client) {
    return switch (mode) {
      case "shipped" -> new Extender(ExtenderIT.config(), client);
      case "service" -> new Extender(ExtenderIT.serviceConfig("extender-0", "10.0.0.1"), client);
      default -> new Extender(ExtenderIT.config(), client, ClientSockets::withLongTimes);
    };
  }

  private static void serve() throws IOException {
    while (System.in.read() >= 0) {
      System.gc();
      Runtime runtime = Runtime.getRuntime();
      System.out.println(
          "heap %d %d"
              .formatted(runtime.totalMemory() - runtime.freeMemory(), runtime.maxMemory()));
    }
  }
}
