package dev.tranche.e2e.chart;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.e2e.install.Await;
import dev.tranche.e2e.install.Shell;
import dev.tranche.e2e.plane.ChildProcess;
import dev.tranche.e2e.plane.ControlPlane;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** A real Prometheus on this machine. */
public final class Prometheus implements AutoCloseable {
  private static final int READY_S = 30;
  private static final int SCRAPED_S = 60;

  private final HttpClient http = HttpClient.newHttpClient();
  private final ChildProcess process;
  private final int port;

  private Prometheus(ChildProcess process, int port) {
    this.process = process;
    this.port = port;
  }

  /**
   * Returns when it takes queries.
   *
   * @param folder for its configuration, data and log; empty
   * @param scrapeConfigs as in its configuration file
   */
  public static Prometheus start(Path folder, int scrapeIntervalS, List<?> scrapeConfigs)
      throws IOException {
    String interval = scrapeIntervalS + "s";
    var global = Map.of("scrape_interval", interval, "scrape_timeout", interval);
    // JSON is YAML.
    Files.writeString(
        folder.resolve("prometheus.yml"),
        Serialization.asJson(Map.of("global", global, "scrape_configs", scrapeConfigs)));
    int port = ControlPlane.freePort();
    var process =
        ChildProcess.start(
            folder.resolve("log"),
            List.of(
                Shell.output("../.build/tool.sh prometheus").strip(),
                "--config.file=" + folder.resolve("prometheus.yml"),
                "--storage.tsdb.path=" + folder.resolve("data"),
                "--web.listen-address=127.0.0.1:" + port));
    var prometheus = new Prometheus(process, port);
    Await.until("Prometheus to be ready", READY_S, prometheus::ready, process::tail);
    return prometheus;
  }

  /** Prometheus's own linter and test runner. */
  public static String promtool() throws IOException, InterruptedException {
    return Shell.output("../.build/tool.sh promtool").strip();
  }

  private boolean ready() {
    process.requireAlive();
    try {
      var request = HttpRequest.newBuilder(uri("/-/ready")).build();
      return http.send(request, BodyHandlers.discarding()).statusCode() == 200;
    } catch (IOException notYet) {
      return false;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }

  /** Returns when each of its targets has answered this often from now on. */
  public void awaitScrapes(int targets, int times) {
    long from = System.currentTimeMillis();
    Await.until(
        "%d scrapes of %d targets".formatted(times, targets),
        SCRAPED_S,
        () -> scraped(from, times) == targets,
        () -> query("up") + process.tail());
  }

  private long scraped(long fromMs, int times) {
    long windowS = (System.currentTimeMillis() - fromMs) / 1_000;
    return windowS == 0
        ? 0
        : query("sum_over_time(up[%ds]) >= %d".formatted(windowS, times)).size();
  }

  /** The samples of an instant query; what it refuses is an error. */
  public JsonNode query(String expression) {
    var request =
        HttpRequest.newBuilder(uri("/api/v1/query"))
            .header("Content-Type", "application/x-www-form-urlencoded")
            .POST(
                HttpRequest.BodyPublishers.ofString(
                    "query=" + URLEncoder.encode(expression, UTF_8)))
            .build();
    try {
      JsonNode answer =
          Serialization.jsonMapper().readTree(http.send(request, BodyHandlers.ofString()).body());
      if (!answer.path("status").asText().equals("success")) {
        throw new AssertionError(expression + ": " + answer);
      }
      return answer.path("data").path("result");
    } catch (IOException e) {
      throw new UncheckedIOException(process.tail(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }

  /** Whether Grafana would show something: NaN is a gap. */
  public boolean shows(String expression) {
    return Dashboard.stream(query(expression))
        .anyMatch(sample -> !sample.path("value").path(1).asText().equals("NaN"));
  }

  private URI uri(String path) {
    return URI.create("http://127.0.0.1:" + port + path);
  }

  @Override
  public void close() {
    process.close();
  }
}
