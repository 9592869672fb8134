package dev.tranche.e2e.bench.plane;

import dev.tranche.e2e.plane.ControlPlane;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClientAgent;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.PoolOptions;
import io.vertx.core.json.JsonObject;
import java.nio.charset.StandardCharsets;

/**
 * An extender that decides nothing, with the same verbs as ours. It accepts every node, scores all
 * alike, and binds to the given node. It shows what an extender costs before it does anything.
 */
public final class NoopExtender {
  private static final String NAMES = "\"NodeNames\":[";

  private final HttpClientAgent api;
  private final String apiUrl;

  private NoopExtender(Vertx vertx, String apiUrl) {
    this.apiUrl = apiUrl;
    this.api =
        vertx.createHttpClient(
            new HttpClientOptions().setTrustAll(true).setVerifyHost(false).setSsl(true),
            new PoolOptions().setHttp1MaxSize(64));
  }

  /** Arguments: our port, and the API server's address. */
  public static void main(String[] args) {
    var vertx = Vertx.vertx();
    var noop = new NoopExtender(vertx, args[1]);
    vertx
        .createHttpServer()
        .requestHandler(noop::serve)
        .listen(Integer.parseInt(args[0]), "127.0.0.1")
        .onFailure(
            e -> {
              System.err.println(e);
              System.exit(1);
            });
  }

  private void serve(HttpServerRequest request) {
    request
        .body()
        .onSuccess(
            body -> {
              switch (String.valueOf(request.path())) {
                case "/filter" -> answer(request, filter(body));
                case "/prioritize" -> answer(request, prioritize(body));
                default -> bind(request, body.toJsonObject());
              }
            });
  }

  private static void answer(HttpServerRequest request, String json) {
    request.response().putHeader("content-type", "application/json").end(json);
  }

  private static String filter(Buffer body) {
    return "{" + NAMES + names(body) + "]}";
  }

  private static String prioritize(Buffer body) {
    String names = names(body);
    if (names.isEmpty()) {
      return "[]";
    }
    return "[{\"Host\":" + names.replace(",", ",\"Score\":0},{\"Host\":") + ",\"Score\":0}]";
  }

  /** Cuts out the list of node names, which contain neither commas nor brackets. */
  private static String names(Buffer body) {
    String text = body.toString(StandardCharsets.ISO_8859_1);
    int from = text.lastIndexOf(NAMES) + NAMES.length();
    return text.substring(from, text.indexOf(']', from));
  }

  private void bind(HttpServerRequest request, JsonObject args) {
    String path =
        "%s/api/v1/namespaces/%s/pods/%s/binding"
            .formatted(apiUrl, args.getString("PodNamespace"), args.getString("PodName"));
    String binding =
        """
        {"apiVersion":"v1","kind":"Binding","metadata":{"name":"%s","uid":"%s"},"target":{"apiVersion":"v1","kind":"Node","name":"%s"}}
        """
            .formatted(args.getString("PodName"), args.getString("PodUID"), args.getString("Node"));
    api.request(
            new io.vertx.core.http.RequestOptions().setMethod(HttpMethod.POST).setAbsoluteURI(path))
        .compose(
            open ->
                open.putHeader("authorization", "Bearer " + ControlPlane.token())
                    .putHeader("content-type", "application/json")
                    .send(binding))
        .compose(response -> response.body().map(body -> response.statusCode()))
        .onSuccess(status -> answer(request, status < 300 ? "{}" : error("status " + status)))
        .onFailure(e -> answer(request, error(String.valueOf(e.getMessage()))));
  }

  private static String error(String message) {
    return new JsonObject().put("Error", message).encode();
  }
}
