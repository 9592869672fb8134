package dev.tranche.e2e.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Base64;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** As much of an API server as a webhook needs that is alone: it remembers what is written. */
final class FakeApi implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final HttpServer server;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final ConcurrentMap<String, ObjectNode> objects = new ConcurrentHashMap<>();

  FakeApi() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    server.createContext("/", this::answer);
    ObjectNode configuration = JSON.createObjectNode();
    configuration.put("kind", "MutatingWebhookConfiguration");
    configuration.put("apiVersion", "admissionregistration.k8s.io/v1");
    configuration.putObject("metadata").put("name", "tranche").put("resourceVersion", "1");
    configuration.putArray("webhooks");
    objects.put(
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/tranche",
        configuration);
    server.start();
  }

  String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  /** A Secret's field; empty while there is none. */
  byte[] secret(String namespace, String name, String field) {
    ObjectNode secret = objects.get("/api/v1/namespaces/" + namespace + "/secrets/" + name);
    return secret == null
        ? new byte[0]
        : Base64.getDecoder().decode(secret.path("data").path(field).asText(""));
  }

  private void answer(HttpExchange exchange) throws IOException {
    String path = exchange.getRequestURI().getPath();
    String query = String.valueOf(exchange.getRequestURI().getQuery());
    switch (exchange.getRequestMethod()) {
      case "GET" -> {
        ObjectNode object = objects.get(path);
        if (query.contains("watch=true")) {
          // Nothing happens here, so nothing is told; the connection stays.
          exchange.sendResponseHeaders(200, 0);
        } else if (object != null) {
          send(exchange, 200, object);
        } else if (path.contains("/secrets/") || path.contains("/configmaps/")) {
          send(exchange, 404, status());
        } else {
          send(exchange, 200, list());
        }
      }
      case "POST", "PUT", "PATCH" -> {
        ObjectNode object = (ObjectNode) JSON.readTree(exchange.getRequestBody());
        String name = object.path("metadata").path("name").asText("");
        boolean created = exchange.getRequestMethod().equals("POST");
        ((ObjectNode) object.path("metadata")).put("resourceVersion", "2");
        objects.put(created ? path + "/" + name : path, object);
        send(exchange, created ? 201 : 200, object);
      }
      default -> send(exchange, 405, status());
    }
  }

  private static ObjectNode status() {
    return JSON.createObjectNode().put("kind", "Status").put("apiVersion", "v1").put("code", 404);
  }

  private static ObjectNode list() {
    ObjectNode list = JSON.createObjectNode().put("kind", "List").put("apiVersion", "v1");
    list.putObject("metadata").put("resourceVersion", "1");
    list.putArray("items");
    return list;
  }

  private static void send(HttpExchange exchange, int status, ObjectNode body) throws IOException {
    byte[] bytes = JSON.writeValueAsBytes(body);
    exchange.getResponseHeaders().set("content-type", "application/json");
    exchange.sendResponseHeaders(status, bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}
