package dev.tranche.e2e.install;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.LocalPortForward;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** The read API of one extender pod, by a port-forward as {@code kubectl} makes it. */
public final class LocalApi implements AutoCloseable {
  private static final int PORT = 9445;
  private static final Duration LIMIT = Duration.ofSeconds(20);
  private static final int TOO_MANY = 429;
  private static final int RETRIES_MAX = 5;
  private static final ObjectMapper JSON = new ObjectMapper();

  private final LocalPortForward forward;
  private final HttpClient http = HttpClient.newBuilder().connectTimeout(LIMIT).build();

  public LocalApi(KubernetesClient client, Pod extender) {
    var pod = extender.getMetadata();
    forward =
        client.pods().inNamespace(pod.getNamespace()).withName(pod.getName()).portForward(PORT);
  }

  /** A status and a body. */
  public record Answer(int status, String body) {
    public JsonNode json() {
      try {
        return JSON.readTree(body);
      } catch (JsonProcessingException e) {
        throw new IllegalStateException("not JSON: " + body, e);
      }
    }
  }

  /** What each of these pods answers; those that do not, or know nothing of it, left out. */
  public static List<Answer> all(KubernetesClient client, List<Pod> extenders, String path) {
    return extenders.stream().map(pod -> one(client, pod, path)).flatMap(Optional::stream).toList();
  }

  private static Optional<Answer> one(KubernetesClient client, Pod extender, String path) {
    try (var api = new LocalApi(client, extender)) {
      return Optional.of(api.get(path)).filter(answer -> answer.status() == 200);
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  public Answer get(String path) throws IOException {
    return send(request(path).GET());
  }

  public Answer post(String path, String json) throws IOException {
    return send(
        request(path)
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(json)));
  }

  private HttpRequest.Builder request(String path) {
    var uri = URI.create("http://127.0.0.1:" + forward.getLocalPort() + path);
    return HttpRequest.newBuilder(uri).timeout(LIMIT);
  }

  private Answer send(HttpRequest.Builder request) throws IOException {
    try {
      var answer = http.send(request.build(), BodyHandlers.ofString());
      for (int i = 0; i < RETRIES_MAX && answer.statusCode() == TOO_MANY; i++) {
        // As its Retry-After says.
        Thread.sleep(Duration.ofSeconds(1));
        answer = http.send(request.build(), BodyHandlers.ofString());
      }
      return new Answer(answer.statusCode(), answer.body());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
  }

  @Override
  public void close() throws IOException {
    http.shutdownNow();
    forward.close();
  }
}
