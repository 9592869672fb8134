package dev.tranche.extender;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.dra.DraNodes;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.process.loop.Loop;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Against API servers with and without resource.k8s.io/v1. */
final class DraWatchIT {
  private static final String GROUP = "/apis/resource.k8s.io/v1";
  private static final String CLASSES = GROUP + "/deviceclasses";
  private static final String SLICES = GROUP + "/resourceslices";

  private final Vertx vertx = Vertx.vertx();
  private final Loop loop = new Loop(vertx.getOrCreateContext());
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final DraNodes nodes = new DraNodes(List.of("nvidia.com/gpu"));
  private final LinkedBlockingQueue<String> asked = new LinkedBlockingQueue<>();
  private final CountDownLatch listed = new CountDownLatch(1);
  private volatile boolean served;
  private volatile String extendedResource = "nvidia.com/gpu";
  private KubernetesClient client;
  private DraWatch watch;

  @BeforeEach
  void start() {
    HttpServer server =
        vertx.createHttpServer().requestHandler(this::answer).listen(0, "127.0.0.1").await();
    client =
        new KubernetesClientBuilder()
            .withConfig(
                new ConfigBuilder()
                    .withMasterUrl("http://127.0.0.1:" + server.actualPort())
                    .withRequestRetryBackoffLimit(0)
                    .build())
            .build();
    watch =
        new DraWatch(
            client,
            loop,
            nodes,
            listed::countDown,
            new ExtenderMetrics(registry),
            () -> TimeUnit.NANOSECONDS.toMillis(System.nanoTime()),
            10);
  }

  @AfterEach
  void stop() {
    watch.close();
    client.close();
    vertx.close().await();
  }

  private void answer(HttpServerRequest request) {
    asked.add(request.path());
    if (request.getHeader("Upgrade") != null) {
      // The watch stays open and silent.
      request.toWebSocket();
      return;
    }
    String body =
        switch (String.valueOf(request.path())) {
          case GROUP -> served ? discovery() : "";
          case CLASSES ->
              list(
                  "DeviceClass",
                  "gpu",
                  new JsonObject().put("extendedResourceName", extendedResource));
          case SLICES ->
              list(
                  "ResourceSlice",
                  "a-gpus",
                  new JsonObject().put("driver", "gpu.nvidia.com").put("nodeName", "a"));
          default -> "";
        };
    request.response().setStatusCode(body.isEmpty() ? 404 : 200).end(body);
  }

  private static String discovery() {
    return new JsonObject()
        .put("kind", "APIResourceList")
        .put("apiVersion", "v1")
        .put("groupVersion", "resource.k8s.io/v1")
        .put("resources", new JsonArray().add(new JsonObject().put("name", "deviceclasses")))
        .encode();
  }

  private static String list(String kind, String name, JsonObject spec) {
    var meta = new JsonObject().put("name", name).put("uid", name).put("resourceVersion", "1");
    var item =
        new JsonObject()
            .put("apiVersion", "resource.k8s.io/v1")
            .put("kind", kind)
            .put("metadata", meta)
            .put("spec", spec);
    return new JsonObject()
        .put("apiVersion", "resource.k8s.io/v1")
        .put("kind", kind + "List")
        .put("metadata", new JsonObject().put("resourceVersion", "1"))
        .put("items", new JsonArray().add(item))
        .encode();
  }

  private void await(String path) throws InterruptedException {
    String next;
    do {
      next = asked.poll(20, TimeUnit.SECONDS);
      assertThat(next).as("a request of %s", path).isNotNull();
    } while (!path.equals(next));
  }

  @Test
  void apiServerWithoutDra_isAskedAgain_andNothingElseHappens() throws Exception {
    watch.start();
    for (int i = 0; i < 3; i++) {
      assertThat(asked.poll(20, TimeUnit.SECONDS)).isEqualTo(GROUP);
    }
    assertThat(registry.find("tranche.extender.watch.failures").counters()).isEmpty();
    served = true;
    assertThat(listed.await(20, TimeUnit.SECONDS)).isTrue();
    assertThat(loop.submit(() -> nodes.isKnown() && nodes.serves("a")).await()).isTrue();
  }

  @Test
  void slices_areNotReadWithoutAClassThatMapsOurResource() throws Exception {
    served = true;
    extendedResource = "example.com/nic";
    watch.start();
    // The class has been read when its watch begins.
    await(CLASSES);
    await(CLASSES);
    assertThat(loop.submit(nodes::isKnown).await()).isTrue();
    assertThat(loop.submit(nodes::isMapped).await()).isFalse();
    assertThat(asked).doesNotContain(SLICES);
  }
}
