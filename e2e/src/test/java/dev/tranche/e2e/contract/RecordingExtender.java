package dev.tranche.e2e.contract;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;

/** An extender that lets every node pass, scores as it is told, and keeps what it was sent. */
final class RecordingExtender implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final HttpServer server;
  private final List<JsonNode> filters = new CopyOnWriteArrayList<>();
  private final Map<String, Integer> scores = new ConcurrentHashMap<>();
  private volatile boolean failing;

  RecordingExtender() {
    try {
      server = HttpServer.create(new InetSocketAddress("0.0.0.0", 0), 0);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    server.createContext("/filter", this::filter);
    server.createContext("/prioritize", this::prioritize);
    server.start();
  }

  int port() {
    return server.getAddress().getPort();
  }

  void failing(boolean now) {
    failing = now;
  }

  /** The score of one node from now on; the others have 0. */
  void onlyScore(String node, int score) {
    scores.clear();
    scores.put(node, score);
  }

  /** Arguments of the filter calls for a pod, oldest first. */
  List<JsonNode> filtersOf(String pod) {
    return filters.stream()
        .filter(args -> args.at("/Pod/metadata/name").asText().equals(pod))
        .toList();
  }

  private void filter(HttpExchange exchange) throws IOException {
    JsonNode args = JSON.readTree(exchange.getRequestBody());
    filters.add(args);
    ObjectNode answer = JSON.createObjectNode();
    answer.set("NodeNames", args.get("NodeNames"));
    answer(exchange, failing ? 500 : 200, answer);
  }

  private void prioritize(HttpExchange exchange) throws IOException {
    ArrayNode answer = JSON.createArrayNode();
    for (JsonNode node : JSON.readTree(exchange.getRequestBody()).get("NodeNames")) {
      answer
          .addObject()
          .put("Host", node.asText())
          .put("Score", scores.getOrDefault(node.asText(), 0));
    }
    answer(exchange, 200, answer);
  }

  private static void answer(HttpExchange exchange, int status, JsonNode body) throws IOException {
    byte[] bytes = JSON.writeValueAsBytes(body);
    exchange.getResponseHeaders().add("Content-Type", "application/json");
    exchange.sendResponseHeaders(status, bytes.length);
    try (var out = exchange.getResponseBody()) {
      out.write(bytes);
    }
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
