package dev.tranche.extender;

import static dev.tranche.process.Until.until;

import dev.tranche.process.listen.ImageProcess;
import io.fabric8.kubernetes.client.KubernetesClient;
import java.io.IOException;
import java.util.Map;

/**
 * The process that {@link FloodedExtenderIT} and {@link HonestLoadIT} start with the options of the
 * image. It prints the ports, then the used heap for each byte of its input. The API server is in
 * the process of the test, so that the heap is the extender's alone.
 */
final class FloodedExtender {
  /** May read the read API. */
  static final String VIEWER = "user-viewer";

  private FloodedExtender() {}

  /**
   * Starts the process.
   *
   * @param mode that of the chart
   * @param cluster which reviews tokens
   */
  static ImageProcess start(String mode, MockCluster cluster) throws Exception {
    cluster.reviewAccess();
    cluster.mayView(VIEWER);
    cluster.certificate();
    if (mode.equals("service")) {
      cluster.verbsService();
    }
    return ImageProcess.start(
        "extender.args",
        Map.of(
            "KUBERNETES_MASTER", cluster.client().getMasterUrl().toString(),
            "KUBERNETES_TRUST_CERTIFICATES", "true",
            "KUBERNETES_AUTH_TRYKUBECONFIG", "false",
            "KUBERNETES_AUTH_TRYSERVICEACCOUNT", "false"),
        "-XX:MaxRAM=512m",
        FloodedExtender.class.getName(),
        mode);
  }

  /**
   * @param args the mode
   */
  public static void main(String[] args) throws Exception {
    Extender extender = extender(args[0], ExtenderMain.openClient());
    extender.start().await();
    until(() -> extender.streamPort() > 0 && extender.apiPort() > 0 && extender.verbsPort() > 0);
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
    return new Extender(
        mode.equals("service")
            ? ExtenderIT.serviceConfig("extender-0", "10.0.0.1")
            : ExtenderIT.config(),
        client);
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
