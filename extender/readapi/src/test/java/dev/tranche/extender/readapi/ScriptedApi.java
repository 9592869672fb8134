package dev.tranche.extender.readapi;

import dev.tranche.extender.readapi.json.Json;
import dev.tranche.extender.readapi.query.Problem;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/** The page's real files, and an API that says what a test wants. */
final class ScriptedApi implements AutoCloseable {
  private static final long HELD_MS_MAX = 5_000;

  private final WebPage page = WebPage.load();
  private final Vertx vertx;
  private final Queue<Held> held = new ConcurrentLinkedQueue<>();
  private final HttpServer server;

  /** What pages see. A new one is a new version. */
  volatile JsonObject snapshot = snapshot(List.of(), List.of());

  /** What {@link #snapshot} has that the version before it had not; null: that is not known. */
  private @Nullable JsonObject newest;

  private JsonObject numbered = snapshot;
  private int version;

  /** Instead of all answers; null: the answers. */
  volatile @Nullable Problem refusal;

  /** Who sends it is let in where all others are refused. */
  volatile String authorization = "none";

  volatile JsonObject pod = new JsonObject();

  /** Null: nothing was recorded. */
  volatile @Nullable JsonObject history;

  /** Instead of {@link #pod}; null: the pod. */
  volatile @Nullable Problem podRefusal;

  /** How much of an answer comes. */
  volatile Answer answer = Answer.WHOLE;

  /** A permit for each answer that was not whole. */
  final Semaphore unfinished = new Semaphore(0);

  enum Answer {
    WHOLE,
    HEAD_ONLY,
    NONE,
    CLOSED
  }

  ScriptedApi(Vertx vertx) {
    this.vertx = vertx;
    this.server =
        vertx.createHttpServer().requestHandler(this::handle).listen(0, "127.0.0.1").await();
  }

  int port() {
    return server.actualPort();
  }

  private void handle(HttpServerRequest request) {
    if (page.tryAnswer(request)) {
      return;
    }
    Problem problem = refusal;
    HttpServerResponse response = request.response();
    if (answer == Answer.NONE) {
      unfinished.release();
    } else if (answer == Answer.CLOSED) {
      var _ = request.connection().close();
    } else if (answer == Answer.HEAD_ONLY) {
      int status = problem == null ? 200 : problem.status();
      var _ = response.setStatusCode(status).setChunked(true).write("{");
      unfinished.release();
    } else if (problem != null && !authorization.equals(request.getHeader("Authorization"))) {
      response.setStatusCode(problem.status()).end(Json.buffer(problem.document()));
    } else if ("/api/v1/changes".equals(request.path())) {
      answer(new Held(request, request.getParam("resourceVersion")));
    } else if ("/api/v1/history".equals(request.path())) {
      answer(response, history, Problem.of(404, "Not found", "nothing was recorded of it"));
    } else {
      Problem refused = podRefusal;
      answer(response, refused == null ? pod : null, refused);
    }
  }

  private static void answer(
      HttpServerResponse response, @Nullable JsonObject found, @Nullable Problem refused) {
    int status = found != null || refused == null ? 200 : refused.status();
    JsonObject json =
        found != null || refused == null ? found : Json.buffer(refused.document()).toJsonObject();
    response.setStatusCode(status).putHeader("Content-Type", "application/json");
    var _ = response.end(Objects.requireNonNull(json).toBuffer());
  }

  /** A page that asked for what is later than a version. */
  private record Held(HttpServerRequest request, String known) {
    void answer(JsonObject change) {
      var _ = request.response().end(change.toBuffer());
    }
  }

  /** Holds the answer until there is a change, so that no test waits for the page's period. */
  private synchronized void answer(Held asked) {
    if (numbered != snapshot) {
      number(snapshot, null);
    }
    JsonObject change = newest;
    if (asked.known.equals(version + "")) {
      held.add(asked);
      vertx.setTimer(
          HELD_MS_MAX,
          late -> {
            if (held.remove(asked)) {
              asked.answer(versioned(new JsonObject()));
            }
          });
    } else if (change != null && asked.known.equals(version - 1 + "")) {
      asked.answer(change);
    } else {
      asked.answer(versioned(snapshot));
    }
  }

  private void number(JsonObject now, @Nullable JsonObject change) {
    snapshot = now;
    numbered = now;
    version++;
    newest = change == null ? null : versioned(change);
  }

  private JsonObject versioned(JsonObject change) {
    return change
        .copy()
        .put("resourceVersion", version + "")
        .put("time", Instant.now().toString())
        .put("complete", change == snapshot);
  }

  /**
   * Changes some rows.
   *
   * @param told the changed fields of rows; null is a field that is gone
   */
  synchronized void change(JsonObject told) {
    JsonObject now = snapshot.copy();
    JsonObject change = new JsonObject();
    for (String rows : List.of("gpus", "pods")) {
      JsonArray changed = told.getJsonArray(rows, new JsonArray());
      changed.forEach(row -> merge(now.getJsonArray(rows), (JsonObject) row));
      change.put(rows, changed);
      List<?> gone = told.getJsonArray(rows + "Removed", new JsonArray()).getList();
      change.put(rows + "Removed", gone);
      now.getJsonArray(rows).getList().removeIf(row -> gone.contains(key((JsonObject) row)));
    }
    number(now, change);
    for (Held asked = held.poll(); asked != null; asked = held.poll()) {
      asked.answer(Objects.requireNonNull(newest));
    }
  }

  private static void merge(JsonArray rows, JsonObject told) {
    for (Object row : rows) {
      if (row instanceof JsonObject known && key(known).equals(key(told))) {
        told.forEach(field -> known.put(field.getKey(), field.getValue()));
        known.getMap().values().removeIf(Objects::isNull);
        return;
      }
    }
    rows.add(told.copy());
  }

  private static String key(JsonObject row) {
    return row.containsKey("index")
        ? row.getString("node") + "/" + row.getString("uuid")
        : row.getString("namespace") + "/" + row.getString("name");
  }

  /** Ends the connections of pages that wait for a change, so that they ask again. */
  void closeWaiting() {
    for (Held asked = held.poll(); asked != null; asked = held.poll()) {
      var _ = asked.request().connection().close();
    }
  }

  @Override
  public void close() {
    var _ = server.close();
  }

  static JsonObject snapshot(List<JsonObject> gpus, List<JsonObject> pods) {
    var amount = new JsonObject().put("gpus", gpus.size() + "").put("memory", gpus.size() + "Gi");
    var waiting =
        pods.stream().filter(pod -> Objects.equals(pod.getString("state"), "Waiting")).count();
    return new JsonObject()
        .put("resourceVersion", "1")
        .put("time", Instant.now().toString())
        .put("complete", true)
        .put("gpus", new JsonArray(gpus))
        .put("pods", new JsonArray(pods))
        .put(
            "summary",
            new JsonObject()
                .put(
                    "cluster",
                    new JsonObject()
                        .put("total", amount)
                        .put("healthy", amount)
                        .put("granted", amount)
                        .put("used", amount.copy().put("measuredGpus", gpus.size())))
                .put("models", new JsonArray())
                .put("modelCount", 0)
                .put(
                    "waitingPods",
                    new JsonObject().put("total", waiting).put("byReason", new JsonArray())));
  }

  /**
   * A value each minute, the last one now.
   *
   * @param smPercent below 0: no reading
   */
  static JsonObject history(String uuid, int... smPercent) {
    var times = new JsonArray();
    var sm = new JsonArray();
    var smMax = new JsonArray();
    var memory = new JsonArray();
    var granted = new JsonArray();
    Instant now = Instant.now();
    for (int i = 0; i < smPercent.length; i++) {
      int percent = smPercent[i];
      times.add(now.minusSeconds((smPercent.length - 1 - i) * 60L).toString());
      sm.add(percent < 0 ? null : percent / 100.0);
      smMax.add(percent < 0 ? null : Math.min(1, percent / 80.0));
      memory.add(percent < 0 ? null : 20L << 30);
      granted.add(0.5);
    }
    var gpu =
        new JsonObject()
            .put("uuid", uuid)
            .put("index", 0)
            .put("sm", sm)
            .put("smMax", smMax)
            .put("memory", memory)
            .put("granted", granted);
    return new JsonObject()
        .put("time", now.toString())
        .put("node", "node-a")
        .put("stepSeconds", 60)
        .put("times", times)
        .put("gpus", new JsonArray().add(gpu));
  }

  /** Half granted, and as busy as said; below 0: without a reading. */
  static JsonObject gpu(String node, int index, int smPercent) {
    var gpu =
        new JsonObject()
            .put("node", node)
            .put("index", index)
            .put("uuid", "GPU-%s-%d".formatted(node, index))
            .put("model", "NVIDIA H100 80GB HBM3")
            .put("resource", "nvidia.com/gpu")
            .put("replicas", 10)
            .put("freeReplicas", 5)
            .put("largestShareReplicas", 5)
            .put("memory", "80Gi")
            .put("granted", new JsonObject().put("gpus", "500m").put("memory", "40Gi"))
            .put("health", "Healthy")
            .put("effective", new JsonObject().put("memoryFree", "40Gi"))
            .put("holders", new JsonArray())
            .put("holderCount", 0);
    return smPercent < 0 ? gpu : gpu.put("measured", measured(smPercent));
  }

  static JsonObject measured(int smPercent) {
    return new JsonObject()
        .put("time", Instant.now().toString())
        .put("fresh", true)
        .put("memory", "20Gi")
        .put("sm", smPercent * 10 + "m")
        .put("smLast", smPercent * 10 + "m");
  }

  static JsonObject held(JsonObject gpu, String namespace, String name) {
    var holder =
        new JsonObject()
            .put("namespace", namespace)
            .put("name", name)
            .put("uid", name)
            .put("replicas", 5)
            .put("replicasPerGpu", 10)
            .put("stage", "Confirmed");
    return gpu.put("holders", new JsonArray().add(holder)).put("holderCount", 1);
  }

  static JsonObject requested(int gpus, String share) {
    return new JsonObject().put("replicas", 5 * gpus).put("gpus", gpus).put("share", share);
  }

  static JsonObject pod(String namespace, String name, String state) {
    return new JsonObject()
        .put("namespace", namespace)
        .put("name", name)
        .put("uid", name)
        .put("resource", "nvidia.com/gpu")
        .put("requested", requested(1, "500m"))
        .put("since", Instant.now().minusSeconds(600).toString())
        .put("state", state);
  }

  static JsonObject waiting(String namespace, String name, String message) {
    return pod(namespace, name, "Waiting")
        .put("waiting", new JsonObject().put("reason", "Memory").put("message", message));
  }

  static JsonObject waiting(String namespace, String name, String message, String whatToDo) {
    JsonObject pod = waiting(namespace, name, message);
    pod.getJsonObject("waiting").put("whatToDo", whatToDo);
    return pod;
  }

  static JsonObject bound(String namespace, String name, String used) {
    return pod(namespace, name, "Bound")
        .put("granted", new JsonObject().put("gpus", "500m").put("memory", "40Gi"))
        .put("used", new JsonObject().put("gpus", used).put("memory", "10Gi"));
  }
}
