package dev.tranche.webhook;

import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.listen.ListeningPort;
import dev.tranche.process.ops.OpsPort;
import dev.tranche.process.settings.HostPort;
import dev.tranche.webhook.metrics.WebhookMetrics;
import dev.tranche.webhook.review.AdmissionServer;
import dev.tranche.webhook.review.ReviewBodyReader;
import dev.tranche.webhook.review.ReviewHandler;
import dev.tranche.webhook.tls.Pairs;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The process that {@link FloodedPortsIT} starts with the options of the image: the webhook's ports
 * with their limits. It prints the ports. For each byte of its input it prints what is used.
 */
final class FloodedPorts {
  /** Longer than the test, so that nothing ends before the heap is read. */
  private static final long PATIENT_MS = 600_000;

  private FloodedPorts() {}

  /**
   * @param args "patient" for a long time for bodies
   */
  public static void main(String[] args) throws IOException {
    boolean patient = args.length > 0 && args[0].equals("patient");
    var transport = new LimitedTransport();
    var vertx = transport.vertx(new VertxOptions().setEventLoopPoolSize(2));
    var registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    var metrics = new WebhookMetrics(registry);
    ReviewHandler echo = body -> new ReviewHandler.Answer.Review(Buffer.buffer(body));
    var admission =
        new AdmissionServer(
            new HostPort("127.0.0.1", 0),
            new ListeningPort(vertx, transport, "admission", AdmissionServer.LIMITS),
            Map.of("/review", echo),
            new ReviewBodyReader(vertx, patient ? PATIENT_MS : 8_000, metrics),
            metrics);
    admission.serve(Pairs.serving("localhost")).await();
    var listening = new ListeningPort(vertx, transport, "metrics", ConnectionLimits.METRICS);
    metrics.connections(listening);
    var admin =
        new OpsPort(registry::scrape, new Readiness(Optional::empty, InstantSource.system())::probe)
            .listen(listening, new HostPort("127.0.0.1", 0))
            .await();
    System.out.println("ports " + admission.port() + " " + admin.actualPort());
    while (System.in.read() >= 0) {
      System.out.println("usage " + usage(registry));
    }
    System.exit(0);
  }

  private static String usage(PrometheusMeterRegistry registry) {
    System.gc();
    Runtime runtime = Runtime.getRuntime();
    return Stream.of(
            runtime.totalMemory() - runtime.freeMemory(),
            runtime.maxMemory(),
            gauge(registry, "tranche.webhook.connections", "admission"),
            gauge(registry, "tranche.webhook.connections", "metrics"),
            (long) registry.get("tranche_webhook_in_flight_bytes").gauge().value())
        .map(String::valueOf)
        .collect(Collectors.joining(" "));
  }

  private static long gauge(PrometheusMeterRegistry registry, String name, String port) {
    return (long) registry.get(name).tag("port", port).gauge().value();
  }
}
