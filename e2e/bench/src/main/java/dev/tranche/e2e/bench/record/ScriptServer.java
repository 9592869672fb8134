package dev.tranche.e2e.bench.record;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.tranche.simulate.script.ScriptedExtender;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.function.UnaryOperator;

/** Serves a {@link ScriptedExtender} to a real kube-scheduler. */
final class ScriptServer implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final HttpServer server;
  private final Binder binder;
  private final UnaryOperator<String> nameOfUid;
  private volatile ScriptedExtender extender = new ScriptedExtender(() -> 0);

  /** Writes a Binding. */
  interface Binder {
    void bind(String pod, String uid, String node);
  }

  /**
   * @param nameOfUid the name of the pod with this uid
   */
  ScriptServer(Binder binder, UnaryOperator<String> nameOfUid) throws IOException {
    this.binder = binder;
    this.nameOfUid = nameOfUid;
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    server.createContext("/filter", exchange -> serve(exchange, this::filter));
    server.createContext("/prioritize", exchange -> serve(exchange, this::prioritize));
    server.createContext("/bind", exchange -> serve(exchange, this::bind));
    server.createContext("/preempt", exchange -> serve(exchange, this::preempt));
    server.start();
  }

  int port() {
    return server.getAddress().getPort();
  }

  void serve(ScriptedExtender now) {
    extender = now;
  }

  private interface Verb {
    /** Returns the answer; empty for an error. */
    Optional<JsonNode> answer(ScriptedExtender extender, JsonNode args);
  }

  private void serve(HttpExchange exchange, Verb verb) throws IOException {
    Optional<JsonNode> answer =
        verb.answer(extender, JSON.readTree(exchange.getRequestBody().readAllBytes()));
    byte[] bytes = JSON.writeValueAsBytes(answer.orElse(JSON.createObjectNode()));
    exchange.getResponseHeaders().add("Content-Type", "application/json");
    exchange.sendResponseHeaders(answer.isPresent() ? 200 : 500, bytes.length);
    try (var out = exchange.getResponseBody()) {
      out.write(bytes);
    }
  }

  private static String pod(JsonNode args) {
    return args.at("/Pod/metadata/name").asText();
  }

  private static List<String> nodes(JsonNode args) {
    return args.path("NodeNames").valueStream().map(JsonNode::asText).toList();
  }

  private static void sleep(long ms) {
    Recorder.sleepUntil(System.currentTimeMillis() + ms);
  }

  private Optional<JsonNode> filter(ScriptedExtender extender, JsonNode args) {
    var filtered = extender.filter(pod(args), nodes(args));
    sleep(extender.takesMs("filter", pod(args)));
    return filtered.map(
        result -> {
          ObjectNode answer = JSON.createObjectNode();
          result.nodes().forEach(answer.putArray("NodeNames")::add);
          ObjectNode failed = answer.putObject("FailedNodes");
          ObjectNode unresolvable = answer.putObject("FailedAndUnresolvableNodes");
          result.refused().forEach((node, hard) -> (hard ? unresolvable : failed).put(node, "no"));
          return answer;
        });
  }

  private Optional<JsonNode> prioritize(ScriptedExtender extender, JsonNode args) {
    return extender
        .prioritize(pod(args), nodes(args))
        .map(
            scores -> {
              ArrayNode answer = JSON.createArrayNode();
              scores.forEach(
                  (node, score) -> answer.addObject().put("Host", node).put("Score", score));
              return answer;
            });
  }

  private Optional<JsonNode> bind(ScriptedExtender extender, JsonNode args) {
    String pod = args.path("PodName").asText();
    String node = args.path("Node").asText();
    boolean binds = extender.bind(pod, node);
    sleep(extender.takesMs("bind", pod));
    if (binds) {
      binder.bind(pod, args.path("PodUID").asText(), node);
    }
    return binds ? Optional.of(JSON.createObjectNode()) : Optional.empty();
  }

  private Optional<JsonNode> preempt(ScriptedExtender extender, JsonNode args) {
    JsonNode offered = args.path("NodeNameToMetaVictims");
    Map<String, List<String>> names = new TreeMap<>();
    offered
        .properties()
        .forEach(
            node -> {
              var victims = new ArrayList<String>();
              node.getValue()
                  .path("Pods")
                  .forEach(each -> victims.add(nameOfUid.apply(each.path("UID").asText())));
              names.put(node.getKey(), victims);
            });
    return extender
        .preempt(pod(args), names)
        .map(
            left -> {
              ObjectNode answer = JSON.createObjectNode();
              ObjectNode nodes = answer.putObject("NodeNameToMetaVictims");
              left.keySet().forEach(node -> nodes.set(node, offered.path(node)));
              return answer;
            });
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
