package dev.tranche.e2e.chart;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;

/** Metrics for a Prometheus on this machine, each target under a path of its own. */
public final class Expositions implements AutoCloseable {
  private final HttpServer server;
  private final ExecutorService workers = Executors.newVirtualThreadPerTaskExecutor();
  private final List<Map<String, Object>> targets = new ArrayList<>();

  private Expositions(HttpServer server) {
    this.server = server;
  }

  public static Expositions start() throws IOException {
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    var expositions = new Expositions(HttpServer.create(address, 0));
    expositions.server.setExecutor(expositions.workers);
    expositions.server.start();
    return expositions;
  }

  /**
   * One more target.
   *
   * @param labels as a PodMonitor or ServiceMonitor would add them
   * @param metrics asked at each scrape
   */
  public void add(Map<String, String> labels, Supplier<String> metrics) {
    String path = "/" + targets.size();
    server.createContext(path, exchange -> answer(exchange, metrics));
    var all = new HashMap<String, String>(labels);
    all.put("__metrics_path__", path);
    targets.add(
        Map.of("targets", List.of("127.0.0.1:" + server.getAddress().getPort()), "labels", all));
  }

  private static void answer(HttpExchange exchange, Supplier<String> metrics) throws IOException {
    try (exchange) {
      byte[] body = metrics.get().getBytes(UTF_8);
      exchange.getResponseHeaders().add("Content-Type", "text/plain; version=0.0.4");
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
    }
  }

  public int size() {
    return targets.size();
  }

  /** For {@link Prometheus#start}. */
  public Map<String, Object> scrapeConfig() {
    return Map.of("job_name", "tranche", "static_configs", targets);
  }

  @Override
  public void close() {
    server.stop(0);
    workers.shutdownNow();
  }
}
