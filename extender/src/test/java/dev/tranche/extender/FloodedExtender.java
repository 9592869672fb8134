package dev.tranche.extender;

import java.io.IOException;
import java.time.Duration;

/**
 * The process that {@link FloodedExtenderIT} starts with the options of the image. It prints the
 * ports, then the used heap for each byte of its input.
 */
final class FloodedExtender {
  private FloodedExtender() {}

  public static void main(String[] args) throws Exception {
    var cluster = new MockCluster();
    cluster.reviewTokens();
    cluster.certificate();
    var extender = new Extender(ExtenderIT.config(), cluster.client());
    extender.start().toCompletionStage().toCompletableFuture().get();
    ExtenderIT.until(
        Duration.ofSeconds(60), () -> extender.streamPort() > 0 && extender.apiPort() > 0);
    System.out.println(
        "ports %d %d %d %d"
            .formatted(
                extender.streamPort(),
                extender.apiPort(),
                extender.verbsPort(),
                extender.metricsPort()));
    serve();
    System.exit(0);
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
