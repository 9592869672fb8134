package dev.tranche.e2e.bench.ui;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.DoubleStream;

/** Asks the verb {@code filter} as kube-scheduler does, one call after the other. */
public final class FilterCalls {
  /** The period of a busy kube-scheduler's calls, according to {@code ./bench scale}. */
  private static final long PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final List<HttpRequest> requests;
  private int next;

  /**
   * @param verbs the URL of the verbs
   * @param pods as the API server has them
   * @param nodes that kube-scheduler asks about
   */
  public FilterCalls(URI verbs, List<JsonObject> pods, List<String> nodes) {
    requests =
        pods.stream()
            .map(pod -> new JsonObject().put("Pod", pod).put("NodeNames", new JsonArray(nodes)))
            .map(args -> BodyPublishers.ofString(args.encode()))
            .map(body -> HttpRequest.newBuilder(verbs.resolve("filter")).POST(body).build())
            .toList();
  }

  /**
   * Makes a hundred calls a second for this long.
   *
   * @return how long each answer took, in milliseconds
   */
  public double[] during(Duration length) throws IOException {
    var took = DoubleStream.builder();
    long end = System.nanoTime() + length.toNanos();
    for (long due = System.nanoTime(); due < end; due += PERIOD_NANOS) {
      while (System.nanoTime() < due) {
        LockSupport.parkNanos(due - System.nanoTime());
      }
      took.add(call(requests.get(next)));
      next = (next + 1) % requests.size();
    }
    return took.build().toArray();
  }

  private double call(HttpRequest request) throws IOException {
    long from = System.nanoTime();
    HttpResponse<String> answer;
    try {
      answer = http.send(request, BodyHandlers.ofString());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
    double ms = (System.nanoTime() - from) / 1e6;
    if (new JsonObject(answer.body()).getJsonArray("NodeNames", new JsonArray()).isEmpty()) {
      throw new IOException("filter offers no node: " + answer.body());
    }
    return ms;
  }
}
