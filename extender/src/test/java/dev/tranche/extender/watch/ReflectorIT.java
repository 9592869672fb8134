package dev.tranche.extender.watch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.PlainApi;
import dev.tranche.extender.metrics.ExtenderMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Against an API server that forgets, breaks off and lists in parts. */
final class ReflectorIT {
  private final PlainApi api = new PlainApi("/cluster/a", this::answer);
  private final LinkedBlockingQueue<String> told = new LinkedBlockingQueue<>();
  private final LinkedBlockingQueue<String> asked = new LinkedBlockingQueue<>();
  private final AtomicInteger lists = new AtomicInteger();

  /** The uids of nodes that cause an exception. */
  private static final Set<String> BUGS = Set.of("a1", "d1");

  private final AtomicInteger watches = new AtomicInteger();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final Reflector<WatchedNode> reflector =
      new Reflector<>(
          new Reflector.Watches(
              api.client,
              new ExtenderMetrics(registry),
              () -> TimeUnit.NANOSECONDS.toMillis(System.nanoTime())),
          NodeReader.kind(List.of("nvidia.com/gpu")),
          new Reflector.Sink<>(
              this::seen,
              (uid, key) -> told.add("gone " + key + " " + uid),
              () -> told.add("listed")));

  @AfterEach
  void stop() {
    reflector.close();
    api.close();
  }

  /** An exception, from a list or from a watch, must not keep later objects from being seen. */
  private void seen(WatchedNode item) {
    told.add("seen " + item.key() + " " + item.uid());
    if (BUGS.contains(item.uid())) {
      throw new IllegalStateException("of node " + item.key());
    }
  }

  /** First a, b and c in two parts, later only b (another one) and c. */
  private void answer(HttpServerRequest request) {
    asked.add(String.valueOf(request.query()));
    String upgrade = request.getHeader("Upgrade");
    if (upgrade != null && watches.incrementAndGet() == 1) {
      request.response().setStatusCode(503).end();
    } else if (upgrade != null) {
      watch(request);
    } else if (request.getParam("continue") != null) {
      assertThat(request.getHeader("Accept-Encoding")).isEqualTo("gzip");
      request
          .response()
          .putHeader("Content-Encoding", "gzip")
          .end(packed(list("", node("c", "c1"))));
    } else if (lists.incrementAndGet() == 1) {
      request.response().end(list("more please", node("a", "a1"), node("b", "b1")));
    } else {
      request.response().end(list("", node("b", "b2"), node("c", "c1")));
    }
  }

  /** The first that opens breaks off, the second says that it knows no more of the past. */
  private void watch(HttpServerRequest request) {
    String from = request.getParam("resourceVersion");
    request
        .toWebSocket()
        .onSuccess(
            socket -> {
              if ("10".equals(from)) {
                socket.writeTextMessage(event("ADDED", node("d", "d1")));
                socket.writeTextMessage(event("DELETED", node("d", "d1")));
                socket.writeTextMessage(event("BOOKMARK", node("", "")));
                socket.close();
              } else if ("12".equals(from)) {
                var status = new JsonObject().put("kind", "Status").put("apiVersion", "v1");
                socket.writeTextMessage(event("ERROR", status.put("code", 410)));
              }
            });
  }

  private double failures() {
    return registry.get("tranche.extender.watch.failures").tag("kind", "nodes").counter().count();
  }

  private static String event(String type, JsonObject object) {
    return new JsonObject().put("type", type).put("object", object).encode();
  }

  /** As an API server does with all that is large. */
  private static Buffer packed(String text) {
    var bytes = new ByteArrayOutputStream();
    try (var out = new GZIPOutputStream(bytes)) {
      out.write(text.getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return Buffer.buffer(bytes.toByteArray());
  }

  private static JsonObject node(String name, String uid) {
    return new JsonObject()
        .put("apiVersion", "v1")
        .put("kind", "Node")
        .put(
            "metadata",
            new JsonObject().put("name", name).put("uid", uid).put("resourceVersion", "12"));
  }

  private static String list(String next, JsonObject... items) {
    return new JsonObject()
        .put("apiVersion", "v1")
        .put("kind", "NodeList")
        .put("metadata", new JsonObject().put("resourceVersion", "10").put("continue", next))
        .put("items", new JsonArray(List.of(items)))
        .encode();
  }

  @Test
  void reflector_whatHappens_showsEveryChangeOnce() throws Exception {
    var expected =
        List.of(
            "seen a a1",
            "seen b b1",
            "seen c c1",
            "listed",
            "seen d d1",
            "gone d d1",
            "gone b b1",
            "seen b b2",
            "seen c c1",
            "gone a a1",
            "listed");
    reflector.start();
    for (String next : expected) {
      assertThat(told.poll(20, TimeUnit.SECONDS)).isEqualTo(next);
    }
    assertThat(asked.stream().filter(query -> !query.contains("watch")))
        .containsExactly("limit=1000", "limit=1000&continue=more+please", "limit=1000");
    assertThat(asked.stream().filter(query -> query.contains("watch")).limit(3))
        .satisfiesExactly(
            refused -> assertThat(refused).endsWith("resourceVersion=10"),
            first -> assertThat(first).endsWith("resourceVersion=10"),
            second -> assertThat(second).endsWith("resourceVersion=12"));
    assertThat(failures()).as("tried again by us, and by nobody behind our back").isOne();
    double skipped =
        registry.get("tranche.extender.watch.unread").tag("kind", "nodes").counter().count();
    assertThat(skipped).isGreaterThanOrEqualTo(BUGS.size());
  }
}
