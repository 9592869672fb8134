package dev.tranche.e2e.bench.training;

import dev.tranche.e2e.bench.plane.SimulatedNodes;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.ServerWebSocket;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.PemKeyCertOptions;
import java.util.Base64;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The parts of an API server that an extender uses: lists and watches, its certificate, token
 * reviews, and Bindings. The pod watch shows the Bindings. A token is the name of its node. All on
 * one event loop.
 */
final class TrainingApi {
  private static final Pattern BINDING = Pattern.compile(".*/pods/([^/]+)/binding");

  private final Vertx vertx;
  private final PemKeyCertOptions certificate;
  private final String account;
  private final int nodes;
  private final AtomicLong version = new AtomicLong(1);
  private @Nullable ServerWebSocket pods;

  /**
   * @param certificate the certificate of this server, which is also the one in the extender's
   *     Secret
   * @param account the ServiceAccount of all tokens, as {@code namespace:name}
   */
  TrainingApi(Vertx vertx, PemKeyCertOptions certificate, String account, int nodes) {
    this.vertx = vertx;
    this.certificate = certificate;
    this.account = account;
    this.nodes = nodes;
  }

  /**
   * @param port 0: any
   * @return the port's number
   */
  int listen(int port) {
    return vertx
        .createHttpServer(
            new HttpServerOptions()
                .setSsl(true)
                .setKeyCertOptions(certificate)
                .setCompressionSupported(true))
        .requestHandler(this::answer)
        .listen(port, "127.0.0.1")
        .await()
        .actualPort();
  }

  /** Sends a watch event of a pod that is created, bound or deleted; on the event loop. */
  void sendPodEvent(String type, String name, String node) {
    var watch = pods;
    if (watch != null) {
      long number = version.incrementAndGet();
      JsonObject event = TrainingObjects.podEvent(type, name, name + "-uid", number, node);
      watch.writeTextMessage(event.encode());
    }
  }

  private void answer(HttpServerRequest request) {
    String path = String.valueOf(request.path());
    if (request.getHeader("Upgrade") != null) {
      request.toWebSocket().onSuccess(socket -> onWatch(path, socket));
      return;
    }
    request.body().onSuccess(body -> answer(request, path, body));
  }

  /** Keeps the watch of pods; all other watches stay open without an event. */
  private void onWatch(String path, ServerWebSocket socket) {
    if (path.endsWith("/pods")) {
      pods = socket;
    }
  }

  private void answer(HttpServerRequest request, String path, Buffer body) {
    Matcher binding = BINDING.matcher(path);
    if (path.endsWith("/api/v1/nodes")) {
      json(request, 200, TrainingObjects.nodes(nodes));
    } else if (path.endsWith("/api/v1/pods")) {
      json(request, 200, TrainingObjects.foreignPods(nodes));
    } else if (path.contains("/secrets")) {
      json(request, 200, TrainingObjects.list("SecretList", JsonArray.of(secret())));
    } else if (path.endsWith("/tokenreviews")) {
      json(request, 201, review(body.toJsonObject()));
    } else if (path.endsWith("/token")) {
      json(request, 201, token(body.toJsonObject()));
    } else if (binding.matches()) {
      String node = body.toJsonObject().getJsonObject("target").getString("name");
      json(request, 201, object("Status", "v1").put("status", "Success"));
      sendPodEvent("MODIFIED", binding.group(1), node);
    } else if (path.contains("/api/v1/nodes/")) {
      var meta = new JsonObject().put("name", path.substring(path.lastIndexOf('/') + 1));
      json(request, 200, object("Node", "v1").put("metadata", meta));
    } else {
      json(request, 200, TrainingObjects.list("List", new JsonArray()));
    }
  }

  private static void json(HttpServerRequest request, int status, JsonObject object) {
    request
        .response()
        .setStatusCode(status)
        .putHeader("Content-Type", "application/json")
        .end(object.toBuffer());
  }

  private static JsonObject object(String kind, String version) {
    return new JsonObject().put("kind", kind).put("apiVersion", version);
  }

  private JsonObject secret() {
    var encoder = Base64.getEncoder();
    String namespace = account.substring(0, account.indexOf(':'));
    return object("Secret", "v1")
        .put(
            "metadata",
            JsonObject.of("name", "tranche-extender-tls", "namespace", namespace)
                .put("uid", "secret-uid")
                .put("resourceVersion", "1"))
        .put(
            "data",
            JsonObject.of(
                "tls.crt", encoder.encodeToString(certificate.getCertValue().getBytes()),
                "tls.key", encoder.encodeToString(certificate.getKeyValue().getBytes())));
  }

  private JsonObject review(JsonObject review) {
    JsonObject spec = review.getJsonObject("spec");
    var node = JsonArray.of(spec.getString("token"));
    var user =
        JsonObject.of("username", "system:serviceaccount:" + account)
            .put("extra", JsonObject.of("authentication.kubernetes.io/node-name", node));
    return review.put(
        "status",
        JsonObject.of("authenticated", true, "audiences", spec.getJsonArray("audiences"))
            .put("user", user));
  }

  /**
   * @see SimulatedNodes
   */
  private static JsonObject token(JsonObject request) {
    String node = request.getJsonObject("spec").getJsonObject("boundObjectRef").getString("name");
    return request.put(
        "status", JsonObject.of("token", node, "expirationTimestamp", "2100-01-01T00:00:00Z"));
  }
}
