package dev.tranche.e2e.record;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.function.Consumer;

/**
 * An extender that passes every node, gives preset scores, evicts no pod, and keeps all requests.
 */
public final class RecordingExtender implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final HttpServer server;
  private final List<Request> requests = new CopyOnWriteArrayList<>();
  private final Map<String, Integer> scores = new ConcurrentHashMap<>();
  private volatile boolean failing;
  private volatile Consumer<JsonNode> binder = args -> {};

  private record Request(String verb, String pod, JsonNode args, String body) {}

  public RecordingExtender() {
    try {
      server = HttpServer.create(new InetSocketAddress("0.0.0.0", 0), 0);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    server.createContext("/filter", this::filter);
    server.createContext("/prioritize", this::prioritize);
    server.createContext("/bind", this::bind);
    server.createContext("/preempt", exchange -> answer(exchange, 500, record(exchange)));
    server.start();
  }

  public int port() {
    return server.getAddress().getPort();
  }

  public void failing(boolean now) {
    failing = now;
  }

  /**
   * @param binder binds a pod as the arguments say
   */
  public void binder(Consumer<JsonNode> binder) {
    this.binder = binder;
  }

  /** The score of one node from now on; the others have 0. */
  public void onlyScore(String node, int score) {
    scores.clear();
    scores.put(node, score);
  }

  /** Arguments of the filter calls for a pod, oldest first. */
  public List<JsonNode> filtersOf(String pod) {
    return requests.stream()
        .filter(r -> r.verb().equals("filter") && r.pod().equals(pod))
        .map(Request::args)
        .toList();
  }

  /** The first request of a verb for a pod, as it came. */
  public Optional<String> body(String verb, String pod) {
    return requests.stream()
        .filter(r -> r.verb().equals(verb) && r.pod().equals(pod))
        .map(Request::body)
        .findFirst();
  }

  private JsonNode record(HttpExchange exchange) throws IOException {
    String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
    JsonNode args = JSON.readTree(body);
    String verb = exchange.getRequestURI().getPath().substring(1);
    String pod = args.path("PodName").asText(args.at("/Pod/metadata/name").asText());
    requests.add(new Request(verb, pod, args, body));
    return args;
  }

  private void filter(HttpExchange exchange) throws IOException {
    JsonNode names = record(exchange).path("NodeNames");
    ObjectNode answer = JSON.createObjectNode();
    if (names.isArray()) {
      answer.set("NodeNames", names);
    } else {
      answer.put("Error", "only names are read here");
    }
    answer(exchange, failing ? 500 : 200, answer);
  }

  private void prioritize(HttpExchange exchange) throws IOException {
    ArrayNode answer = JSON.createArrayNode();
    for (JsonNode node : record(exchange).path("NodeNames")) {
      answer
          .addObject()
          .put("Host", node.asText())
          .put("Score", scores.getOrDefault(node.asText(), 0));
    }
    answer(exchange, 200, answer);
  }

  private void bind(HttpExchange exchange) throws IOException {
    binder.accept(record(exchange));
    answer(exchange, 200, JSON.createObjectNode());
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
