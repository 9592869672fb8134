package dev.tranche.e2e.bench.webhook;

import dev.tranche.api.Names;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Base64;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;

/**
 * A fake API server with as much as a webhook alone needs. It has a GPU node and the webhook's
 * configuration, and stores what is written.
 */
public final class FakeApi implements AutoCloseable {
  private static final String CONFIGURATION =
      "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/tranche";

  private final Vertx vertx = Vertx.vertx(new VertxOptions().setEventLoopPoolSize(1));
  private final HttpServer server;
  private final JsonObject configuration = configuration();
  private final ConcurrentMap<String, JsonObject> objects = new ConcurrentHashMap<>();

  /**
   * @param options TLS or not
   * @param port 0: any
   */
  public FakeApi(HttpServerOptions options, int port) {
    objects.put(CONFIGURATION, configuration);
    server =
        vertx
            .createHttpServer(options)
            .requestHandler(this::answer)
            .listen(port, "127.0.0.1")
            .await();
  }

  public int port() {
    return server.actualPort();
  }

  /** A Secret's field; empty while there is none. */
  public byte[] secret(String namespace, String name, String field) {
    JsonObject secret = objects.get("/api/v1/namespaces/" + namespace + "/secrets/" + name);
    return secret == null
        ? new byte[0]
        : Base64.getDecoder().decode(secret.getJsonObject("data").getString(field, ""));
  }

  private void answer(HttpServerRequest request) {
    if (request.getHeader("Upgrade") != null) {
      // Nothing changes here, so the watch stays open without an event.
      var _ = request.toWebSocket();
      return;
    }
    request.body().onSuccess(body -> answer(request, String.valueOf(request.path()), body));
  }

  private void answer(HttpServerRequest request, String path, Buffer body) {
    switch (request.method().name()) {
      case "GET" -> get(request, path);
      case "PATCH" -> {
        configuration.getJsonArray("webhooks").stream()
            .map(entry -> ((JsonObject) entry).getJsonObject("clientConfig"))
            .forEach(client -> client.put("caBundle", added(body.toJsonArray())));
        send(request, 200, configuration);
      }
      case "POST", "PUT" -> {
        boolean created = request.method().name().equals("POST");
        JsonObject object = body.toJsonObject();
        JsonObject meta = object.getJsonObject("metadata").put("resourceVersion", "2");
        objects.put(created ? path + "/" + meta.getString("name") : path, object);
        send(request, created ? 201 : 200, object);
      }
      default -> send(request, 405, object("Status", "v1"));
    }
  }

  private void get(HttpServerRequest request, String path) {
    JsonObject object = objects.get(path);
    if (object != null) {
      send(request, 200, object);
    } else if (path.contains("/secrets/")) {
      // Empty, as the chart creates it.
      String name = path.substring(path.lastIndexOf('/') + 1);
      JsonObject meta = new JsonObject().put("name", name).put("resourceVersion", "1");
      send(request, 200, object("Secret", "v1").put("metadata", meta));
    } else if (path.contains("/configmaps/")) {
      send(request, 404, object("Status", "v1").put("code", 404));
    } else {
      JsonArray items = path.endsWith("/nodes") ? new JsonArray().add(node()) : new JsonArray();
      JsonObject meta = new JsonObject().put("resourceVersion", "1");
      send(request, 200, object("List", "v1").put("metadata", meta).put("items", items));
    }
  }

  /** The value that a JSON patch adds. */
  private static String added(JsonArray patch) {
    return patch.getJsonObject(patch.size() - 1).getString("value");
  }

  private static JsonObject configuration() {
    var entry = new JsonObject().put("name", "fraction.tranche.dev");
    return object("MutatingWebhookConfiguration", "admissionregistration.k8s.io/v1")
        .put("metadata", new JsonObject().put("name", "tranche").put("resourceVersion", "1"))
        .put("webhooks", new JsonArray().add(entry.put("clientConfig", new JsonObject())));
  }

  private static JsonObject node() {
    var labels = new JsonObject().put(Names.LABEL_REPLICAS_PER_GPU, "10");
    var meta = new JsonObject().put("name", "gpu-node").put("uid", "1").put("labels", labels);
    var capacity = new JsonObject().put("cpu", "96").put("nvidia.com/gpu", "80");
    return object("Node", "v1")
        .put("metadata", meta.put("resourceVersion", "1"))
        .put("status", new JsonObject().put("capacity", capacity));
  }

  private static JsonObject object(String kind, String version) {
    return new JsonObject().put("kind", kind).put("apiVersion", version);
  }

  private static void send(HttpServerRequest request, int status, JsonObject body) {
    request
        .response()
        .setStatusCode(status)
        .putHeader("content-type", "application/json")
        .end(body.toBuffer());
  }

  @Override
  public void close() throws Exception {
    vertx.close().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }
}
