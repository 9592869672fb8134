package dev.tranche.extender;

import dev.tranche.process.listen.ClientSockets;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;

/**
 * The process that {@link FloodedExtenderIT} and {@link HonestLoadIT} start with the options of the
 * image. It prints the ports, then the used heap for each byte of its input. Unless it runs as
 * shipped, time limits are long, so that nothing ends before the heap is read.
 */
final class FloodedExtender {
  /** May read the read API. */
  static final String VIEWER = "user-viewer";

  private FloodedExtender() {}

  /**
   * @param args "reviewing" to have no token reviewed to the end, "shipped" for the shipped time
   *     limits, "service" for these and mode service
   */
  public static void main(String[] args) throws Exception {
    var cluster = new MockCluster();
    if (args[0].equals("reviewing")) {
      reviewForEver(cluster);
    } else {
      cluster.reviewTokens();
    }
    cluster.reviewAccess();
    cluster.mayView(VIEWER);
    cluster.certificate();
    Extender extender = extender(args[0], cluster);
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

  private static Extender extender(String mode, MockCluster cluster) {
    return switch (mode) {
      case "shipped" -> new Extender(ExtenderIT.config(), cluster.client());
      case "service" -> {
        cluster.verbsService();
        yield new Extender(ExtenderIT.serviceConfig("extender-0", "10.0.0.1"), cluster.client());
      }
      default -> new Extender(ExtenderIT.config(), cluster.client(), ClientSockets::withLongTimes);
    };
  }

  /** The answer to a token stays out, so that a call is neither a node's nor refused. */
  private static void reviewForEver(MockCluster cluster) {
    cluster
        .server()
        .expect()
        .post()
        .withPath("/apis/authentication.k8s.io/v1/tokenreviews")
        .andReply(
            201,
            request -> {
              try {
                new CountDownLatch(1).await();
              } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
              }
              return "";
            })
        .always();
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
