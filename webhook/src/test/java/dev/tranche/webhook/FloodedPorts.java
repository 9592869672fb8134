package dev.tranche.webhook;

import dev.tranche.process.listen.ConnectionLimiter;
import dev.tranche.process.listen.ConnectionLimits;
import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.settings.HostPort;
import dev.tranche.webhook.metrics.WebhookMetrics;
import dev.tranche.webhook.review.AdmissionVerticle;
import dev.tranche.webhook.review.ReviewHandler;
import dev.tranche.webhook.tls.Pairs;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.SocketAddress;
import java.io.IOException;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;

/**
 * The process that {@link FloodedPortsIT} starts with the options of the image: the webhook's ports
 * with their limits. It prints the ports, then the used heap for each byte of its input.
 */
final class FloodedPorts {
  private FloodedPorts() {}

  public static void main(String[] args) throws IOException {
    var transport = new LimitedTransport();
    var vertx = transport.vertx(new VertxOptions().setEventLoopPoolSize(2));
    var registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    var metrics = new WebhookMetrics(registry);
    ReviewHandler echo = body -> new ReviewHandler.Answer.Review(Buffer.buffer(body));
    var admission =
        new AdmissionVerticle(
            transport,
            SocketAddress.inetSocketAddress(0, "127.0.0.1"),
            Map.of("/review", echo),
            AdmissionVerticle.HttpLimits.DEFAULT,
            metrics,
            Pairs.serving("localhost"));
    vertx.deployVerticle(admission).await();
    var connections = new ConnectionLimiter(ConnectionLimits.METRICS);
    metrics.connections("metrics", connections);
    var admin =
        Webhook.opsPort(registry, new Readiness(Optional::empty, InstantSource.system()))
            .listen(vertx, transport, connections, new HostPort("127.0.0.1", 0))
            .await();
    System.out.println(admission.port() + " " + admin.actualPort());
    while (System.in.read() >= 0) {
      System.gc();
      Runtime runtime = Runtime.getRuntime();
      System.out.println(
          runtime.totalMemory() - runtime.freeMemory() + " of " + runtime.maxMemory());
    }
    System.exit(0);
  }
}
