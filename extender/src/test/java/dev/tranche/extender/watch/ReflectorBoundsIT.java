package dev.tranche.extender.watch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.metrics.ExtenderMetrics;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerRequest;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Against an API server whose pages unpack to more than the heap. */
final class ReflectorBoundsIT {
  private static final String SMALL =
      """
      {"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[
       {"metadata":{"name":"a","uid":"a1","resourceVersion":"9"}}]}""";

  private final Vertx vertx = Vertx.vertx();
  private final LinkedBlockingQueue<String> told = new LinkedBlockingQueue<>();
  private final LinkedBlockingQueue<String> asked = new LinkedBlockingQueue<>();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final Buffer large = packed(SMALL, 2 * ObjectDecoder.JSON_BYTES_MAX);
  private volatile int largestLimit = 10;
  private KubernetesClient client;
  private Reflector<WatchedNode> reflector;

  @BeforeEach
  void start() {
    HttpServer server =
        vertx.createHttpServer().requestHandler(this::answer).listen(0, "127.0.0.1").await();
    String url = "http://127.0.0.1:" + server.actualPort();
    client =
        new KubernetesClientBuilder()
            .withConfig(new ConfigBuilder().withMasterUrl(url).build())
            .build();
    reflector =
        new Reflector<>(
            client,
            NodeReader.kind(List.of("nvidia.com/gpu")),
            new Reflector.Sink<>(
                node -> told.add("seen " + node.key()),
                (uid, key) -> told.add("gone " + key),
                () -> told.add("listed")),
            new ExtenderMetrics(registry),
            () -> TimeUnit.NANOSECONDS.toMillis(System.nanoTime()));
  }

  @AfterEach
  void stop() {
    reflector.close();
    client.close();
    vertx.close().await();
  }

  private void answer(HttpServerRequest request) {
    String limit = request.getParam("limit");
    if (limit == null) {
      request.response().setStatusCode(503).end();
      return;
    }
    asked.add(limit);
    if (Integer.parseInt(limit) > largestLimit) {
      request.response().putHeader("Content-Encoding", "gzip").end(large);
    } else {
      request.response().end(SMALL);
    }
  }

  /** The text and as many spaces, which pack to a thousandth. */
  private static Buffer packed(String text, int spaces) {
    var bytes = new ByteArrayOutputStream();
    try (var out = new GZIPOutputStream(bytes)) {
      out.write(text.substring(0, text.length() - 1).getBytes(StandardCharsets.UTF_8));
      out.write(" ".repeat(spaces).getBytes(StandardCharsets.UTF_8));
      out.write('}');
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return Buffer.buffer(bytes.toByteArray());
  }

  @Test
  void pageThatIsTooLarge_isAskedForWithFewerObjects() throws Exception {
    reflector.start();
    assertThat(told.poll(20, TimeUnit.SECONDS)).isEqualTo("seen a");
    assertThat(told.poll(20, TimeUnit.SECONDS)).isEqualTo("listed");
    assertThat(asked).startsWith("1000", "100", "10");
    assertThat(told).isEmpty();
  }

  /** The reflector goes on trying, and says so by its metric. */
  @Test
  void objectThatIsTooLargeByItself_isAFailure_thatEndsWithIt() throws Exception {
    largestLimit = 0;
    reflector.start();
    for (String limit : List.of("1000", "100", "10", "1", "1000")) {
      assertThat(asked.poll(20, TimeUnit.SECONDS)).isEqualTo(limit);
    }
    assertThat(registry.get("tranche.extender.watch.failures").tag("kind", "nodes").counter())
        .satisfies(failures -> assertThat(failures.count()).isPositive());
    assertThat(told).isEmpty();
    largestLimit = 1_000;
    assertThat(told.poll(60, TimeUnit.SECONDS)).isEqualTo("seen a");
  }
}
