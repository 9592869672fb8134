package dev.tranche.extender.watch;

import static dev.tranche.process.Until.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.PlainApi;
import dev.tranche.extender.metrics.ExtenderMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.ServerWebSocket;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Against API servers with and without resource.k8s.io/v1. */
final class DraNodesIT {
  private static final String GROUP = "/apis/resource.k8s.io/v1";
  private static final String CLASSES = GROUP + "/deviceclasses";
  private static final String SLICES = GROUP + "/resourceslices";

  private final PlainApi api = new PlainApi(this::answer);
  private final LinkedBlockingQueue<String> asked = new LinkedBlockingQueue<>();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private volatile boolean served;
  private volatile boolean forbidden;
  private volatile long passedMs;
  private volatile JsonObject deviceClass =
      new JsonObject().put("extendedResourceName", "nvidia.com/gpu");
  private final DraNodes nodes =
      new DraNodes(
          new Reflector.Watches(
              api.client,
              new ExtenderMetrics(registry),
              () -> System.currentTimeMillis() + passedMs),
          List.of("nvidia.com/gpu", "nvidia.com/gpu.shared"),
          10);

  @AfterEach
  void stop() {
    nodes.close();
    api.close();
  }

  private void answer(HttpServerRequest request) {
    asked.add(request.path());
    if (forbidden && CLASSES.equals(request.path())) {
      request.response().setStatusCode(403).end();
      return;
    }
    if (request.getHeader("Upgrade") != null) {
      request.toWebSocket().onSuccess(socket -> later(socket, request.path()));
      return;
    }
    String body =
        switch (String.valueOf(request.path())) {
          case GROUP -> served ? discovery() : "";
          // Most classes map no resource.
          case CLASSES -> list("DeviceClass", new JsonObject(), deviceClass);
          case SLICES ->
              list(
                  "ResourceSlice",
                  slice("gpu.nvidia.com").put("nodeName", "a"),
                  slice("gpu.nvidia.com").put("nodeName", "a"),
                  slice("gpu.nvidia.com"),
                  slice("nic.example.com").put("nodeName", "b"));
          default -> "";
        };
    request.response().setStatusCode(body.isEmpty() ? 404 : 200).end(body);
  }

  private static String discovery() {
    return new JsonObject()
        .put("kind", "APIResourceList")
        .put("apiVersion", "v1")
        .put("groupVersion", "resource.k8s.io/v1")
        .put(
            "resources",
            new JsonArray()
                .add(new JsonObject().put("name", "deviceclasses").put("kind", "DeviceClass"))
                .add(new JsonObject().put("name", "resourceslices").put("kind", "ResourceSlice")))
        .encode();
  }

  /** A watch stays open, and shows what comes later. */
  private static void later(ServerWebSocket socket, String path) {
    if (path.equals(SLICES)) {
      var added = object("ResourceSlice", "later", slice("gpu.nvidia.com").put("nodeName", "c"));
      socket.writeTextMessage(new JsonObject().put("type", "ADDED").put("object", added).encode());
    }
  }

  private static JsonObject slice(String driver) {
    return new JsonObject().put("driver", driver).put("devices", new JsonArray());
  }

  private static JsonObject object(String kind, String name, JsonObject spec) {
    var meta = new JsonObject().put("name", name).put("uid", name).put("resourceVersion", "1");
    return new JsonObject()
        .put("apiVersion", "resource.k8s.io/v1")
        .put("kind", kind)
        .put("metadata", meta)
        .put("spec", spec);
  }

  private static String list(String kind, JsonObject... specs) {
    var items = new JsonArray();
    for (JsonObject spec : specs) {
      items.add(object(kind, "n" + items.size(), spec));
    }
    return new JsonObject()
        .put("apiVersion", "resource.k8s.io/v1")
        .put("kind", kind + "List")
        .put("metadata", new JsonObject().put("resourceVersion", "1"))
        .put("items", items)
        .encode();
  }

  private void awaitServed(String... expected) throws Exception {
    until(() -> nodes.served().equals(Optional.of(Set.of(expected))));
  }

  private void selecting(String... expressions) {
    var selectors = new JsonArray();
    for (String each : expressions) {
      selectors.add(new JsonObject().put("cel", new JsonObject().put("expression", each)));
    }
    deviceClass.put("selectors", selectors);
  }

  @Test
  void apiServerWithoutDra_isAskedAgain_andNothingElseHappens() throws Exception {
    nodes.start();
    for (int i = 0; i < 3; i++) {
      assertThat(asked.poll(20, TimeUnit.SECONDS)).isEqualTo(GROUP);
    }
    assertThat(nodes.served()).isEmpty();
    selecting("device.driver == 'gpu.nvidia.com'");
    served = true;
    awaitServed("a", "c");
  }

  @Test
  void classesThatMayNotBeRead_areNotOutdated() throws Exception {
    served = true;
    forbidden = true;
    nodes.start();
    awaitClassesAsked();
    passedMs = 600_000;
    awaitClassesAsked();
    // The one before has been answered then.
    awaitClassesAsked();
    assertThat(
            registry
                .get("tranche.extender.watch.age.seconds")
                .tag("kind", "deviceclasses")
                .gauge()
                .value())
        .isLessThan(300);
  }

  private void awaitClassesAsked() throws InterruptedException {
    String path = asked.poll(20, TimeUnit.SECONDS);
    while (path != null && !path.equals(CLASSES)) {
      path = asked.poll(20, TimeUnit.SECONDS);
    }
    assertThat(path).isEqualTo(CLASSES);
  }

  @Test
  void classWithoutSelectors_takesDevicesOfEveryDriver() throws Exception {
    served = true;
    nodes.start();
    awaitServed("a", "b", "c");
  }

  @Test
  void driver_belongsToAClass_onlyByItsWholeName_inEitherQuotes() throws Exception {
    selecting("true", "device.driver == \"nic.example.com\" || 'vfio.gpu.nvidia.com'");
    served = true;
    nodes.start();
    awaitServed("b");
  }

  @Test
  void slices_areNotReadWithoutAClassThatMapsOurResource() throws Exception {
    deviceClass = new JsonObject().put("extendedResourceName", "example.com/nic");
    served = true;
    nodes.start();
    awaitServed();
    assertThat(asked).doesNotContain(SLICES);
  }
}
