package dev.tranche.nodeplugin.metrics;

import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.ops.Probe;
import dev.tranche.process.settings.HostPort;
import io.vertx.core.VertxOptions;
import java.io.IOException;

/**
 * The process that {@link FloodedNodePortIT} starts with the options of the image: the node
 * plugin's port with its limits. It prints the port. For each byte of its input it prints what is
 * used.
 */
final class FloodedNodePort {
  private FloodedNodePort() {}

  public static void main(String[] args) throws IOException {
    var transport = new LimitedTransport();
    var vertx = transport.vertx(new VertxOptions().setEventLoopPoolSize(1));
    var metrics = new NodeMetrics();
    int port =
        metrics
            .serve(vertx, transport, new HostPort("127.0.0.1", 0), () -> Probe.ALIVE)
            .await()
            .actualPort();
    System.out.println(port);
    while (System.in.read() >= 0) {
      System.gc();
      Runtime runtime = Runtime.getRuntime();
      System.out.printf(
          "%d %d %d%n",
          runtime.totalMemory() - runtime.freeMemory(),
          runtime.maxMemory(),
          gauge(metrics, "tranche_node_connections"));
    }
    System.exit(0);
  }

  private static long gauge(NodeMetrics metrics, String name) {
    String sample = name + "{port=\"metrics\"} ";
    return metrics
        .scrape()
        .lines()
        .filter(line -> line.startsWith(sample))
        .mapToLong(line -> (long) Double.parseDouble(line.substring(sample.length())))
        .findFirst()
        .orElseThrow();
  }
}
