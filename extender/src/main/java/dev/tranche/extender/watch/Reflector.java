package dev.tranche.extender.watch;

import static java.net.HttpURLConnection.HTTP_FORBIDDEN;
import static java.net.HttpURLConnection.HTTP_GONE;
import static java.net.HttpURLConnection.HTTP_NOT_FOUND;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Backoff;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.process.client.ApiClient;
import dev.tranche.process.client.KubernetesJson;
import io.fabric8.kubernetes.api.model.APIResourceList;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.http.HttpResponse;
import io.fabric8.kubernetes.client.http.WebSocket;
import io.fabric8.kubernetes.client.http.WebSocketHandshakeException;
import java.io.IOException;
import java.io.InputStream;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Delivers all objects of one kind and then every change. It lists them page by page and watches
 * from there, until it is closed. It keeps names and uids only. What we decide on is in the Ledger,
 * and thousands of whole Pods and Nodes would be most of our memory.
 */
public final class Reflector<T extends WatchedObject> implements AutoCloseable {
  private static final int PAGE = 1_000;
  private static final String GZIP = "gzip";
  private static final int UNPACKED_BYTES = 1 << 14;
  private static final long CALL_S_MAX = 30;
  private static final long CHECK_S = 5;

  /** The pause after a watch that lasted {@link #LASTING_MS} or longer. */
  static final long SOON_MS = 250;

  static final long LASTING_MS = 10_000;
  static final long PAUSE_MS_MAX = 30_000;

  /**
   * The API server ends a watch after a random time from this to {@link #WATCH_S_MAX}. A watch that
   * is still open {@link #CALL_S_MAX} later has been lost unnoticed.
   */
  private static final int WATCH_S_MIN = 240;

  private static final int WATCH_S_MAX = 360;
  private static final Logger LOG = LoggerFactory.getLogger(Reflector.class);

  private final KubernetesClient client;
  private final ResourceKind<?, T> kind;
  private final Sink<T> sink;
  private final LongSupplier clockMs;
  private final WatchHealth health;

  /** The uids of the tracked objects, by key. */
  private final Map<String, String> known = new HashMap<>();

  private final Thread thread;
  private volatile boolean closed;

  /** What all reflectors share. */
  public record Watches(KubernetesClient client, ExtenderMetrics metrics, LongSupplier clockMs) {}

  /**
   * Receives the objects, on one thread at a time.
   *
   * @param gone receives the uid and the key
   * @param listed all existing objects have been delivered; after a lost watch, also the deletions
   *     that it missed
   */
  public record Sink<T>(Consumer<T> seen, BiConsumer<String, String> gone, Runnable listed) {}

  public Reflector(Watches watches, ResourceKind<?, T> kind, Sink<T> sink) {
    // Without the client's own retries: a retried call may open after we have given it up.
    int callMsMax = (int) TimeUnit.SECONDS.toMillis(CALL_S_MAX);
    this.client = ApiClient.withoutRetries(watches.client(), callMsMax);
    this.kind = kind;
    this.sink = sink;
    this.clockMs = watches.clockMs();
    this.health = new WatchHealth(kind.plural(), watches.metrics(), clockMs);
    this.thread = Thread.ofVirtual().name("watch " + kind.path()).unstarted(this::run);
  }

  /** Has no effect if it has started. */
  public void start() {
    if (thread.getState() == Thread.State.NEW) {
      thread.start();
    }
  }

  private void run() {
    while (kind.lookAgainMs() > 0 && !closed && !isServed()) {
      // Nothing is known of it that could be outdated.
      health.eventReceived();
      pause(kind.lookAgainMs());
    }
    String version = "";
    var again = new Backoff(2 * SOON_MS, PAUSE_MS_MAX);
    while (!closed) {
      long pauseMs;
      try {
        version = version.isEmpty() ? list() : version;
        long sinceMs = clockMs.getAsLong();
        version = watch(version);
        pauseMs = afterWatch(again, clockMs.getAsLong() - sinceMs);
      } catch (InterruptedException end) {
        return;
      } catch (ExecutionException | TimeoutException unreachable) {
        failed(unreachable);
        pauseMs = again.next();
      } catch (Throwable unreadable) {
        // Errors too: without this thread, no further change of this kind would be seen.
        version = "";
        failed(unreadable);
        pauseMs = again.next();
      }
      pause(pauseMs);
    }
  }

  private boolean isServed() {
    try {
      APIResourceList all = client.getApiResources(kind.groupVersion());
      return all != null
          && all.getResources().stream().anyMatch(each -> each.getName().equals(kind.plural()));
    } catch (RuntimeException unreachable) {
      LOG.info("cannot read whether {} is served: {}", kind.path(), unreachable.toString());
      return false;
    }
  }

  /**
   * Returns the pause after a watch. A watch that ends soon after it opens is no sign of health. It
   * may be followed by a full list, so the backoff goes on.
   */
  static long afterWatch(Backoff again, long lastedMs) {
    if (lastedMs < LASTING_MS) {
      return again.next();
    }
    again.reset();
    return SOON_MS;
  }

  private void failed(Throwable why) {
    health.failures.increment();
    LOG.warn("cannot watch {}, will retry: {}", kind.path(), why.toString());
  }

  /** Sleeps with jitter, so that the extender replicas don't all retry at once. */
  private void pause(long ms) {
    try {
      Thread.sleep(ms / 2 + ThreadLocalRandom.current().nextLong(ms));
    } catch (InterruptedException end) {
      closed = true;
    }
  }

  /**
   * @return the resource version of the whole
   */
  private String list()
      throws IOException, InterruptedException, ExecutionException, TimeoutException {
    var listed = new HashSet<String>();
    var skipped = new AtomicBoolean();
    var page = ResourceKind.Page.FIRST;
    do {
      page =
          page(
              page.next(),
              item -> {
                listed.add(item.key());
                seen(item);
              },
              bug -> {
                skip("an object", bug);
                skipped.set(true);
              });
    } while (!page.next().isEmpty());
    Set<String> missing = new HashSet<>(known.keySet());
    missing.removeAll(listed);
    if (!skipped.get()) {
      // An object that was skipped could be any of the missing ones.
      missing.forEach(this::gone);
    }
    health.eventReceived();
    sink.listed().run();
    return page.resourceVersion();
  }

  private ResourceKind.Page page(String next, Consumer<T> seen, Consumer<RuntimeException> skipped)
      throws IOException, InterruptedException, ExecutionException, TimeoutException {
    String more =
        next.isEmpty() ? "" : "&continue=" + URLEncoder.encode(next, StandardCharsets.UTF_8);
    var http = client.getHttpClient();
    var request =
        ApiClient.request(client, kind.path() + "?limit=" + PAGE + more)
            .header("Accept", "application/json")
            .header("Accept-Encoding", GZIP)
            .build();
    CompletableFuture<HttpResponse<InputStream>> call = http.sendAsync(request, InputStream.class);
    HttpResponse<InputStream> answer;
    try {
      answer = call.get(CALL_S_MAX, TimeUnit.SECONDS);
    } catch (InterruptedException | TimeoutException late) {
      call.cancel(true);
      throw late;
    }
    try (InputStream sent = answer.body()) {
      if (!answer.isSuccessful()) {
        refused(answer.code());
        throw new IOException("status " + answer.code() + " " + answer.message());
      }
      return kind.page(body(answer, sent), seen, skipped);
    }
  }

  /** An optional kind may be removed, or not be ours to read: such an answer is not outdated. */
  private void refused(int code) {
    if (kind.lookAgainMs() > 0 && (code == HTTP_FORBIDDEN || code == HTTP_NOT_FOUND)) {
      health.eventReceived();
    }
  }

  /**
   * Returns the uncompressed body. Objects of one kind are similar and compress to a twentieth.
   * Decrypting and passing on the rest would be a fifth of the work at startup.
   */
  private static InputStream body(HttpResponse<InputStream> answer, InputStream sent)
      throws IOException {
    return GZIP.equalsIgnoreCase(answer.header("Content-Encoding"))
        ? new GZIPInputStream(sent, UNPACKED_BYTES)
        : sent;
  }

  /**
   * @return the resource version to watch from next; empty if a new list is required
   */
  private String watch(String from)
      throws IOException, InterruptedException, ExecutionException, TimeoutException {
    int seconds = ThreadLocalRandom.current().nextInt(WATCH_S_MIN, WATCH_S_MAX);
    String query =
        "?watch=true&allowWatchBookmarks=true&timeoutSeconds=%d&resourceVersion=%s"
            .formatted(seconds, from);
    var watching = new Watching(from);
    WebSocket.Builder builder =
        client
            .getHttpClient()
            .newWebSocketBuilder()
            .uri(WebSocket.toWebSocketUri(ApiClient.uri(client, kind.path() + query)))
            .header("Accept", "application/json")
            // The API server's WebSocket handshake requires an Origin, with any value.
            .header("Origin", client.getMasterUrl().toString())
            .connectTimeout(CALL_S_MAX, TimeUnit.SECONDS);
    CompletableFuture<WebSocket> opening = ApiClient.openWebSocket(builder, watching);
    WebSocket socket;
    try {
      socket = opening.get(CALL_S_MAX, TimeUnit.SECONDS);
    } catch (InterruptedException | TimeoutException late) {
      // It may still open later, beside the next one.
      watching.stopped();
      var _ = opening.thenAccept(opened -> opened.sendClose(1_000, ""));
      throw late;
    } catch (ExecutionException refused) {
      if (refused.getCause() instanceof WebSocketHandshakeException handshake) {
        int code = handshake.getResponse().code();
        if (code == HTTP_GONE || code == HTTP_NOT_FOUND) {
          return "";
        }
        refused(code);
      }
      throw refused;
    }
    try {
      health.eventReceived();
      return awaitEnd(
          watching, clockMs.getAsLong() + TimeUnit.SECONDS.toMillis(seconds + CALL_S_MAX));
    } catch (ExecutionException unreadable) {
      throw new IOException("an event of the watch", unreadable.getCause());
    } finally {
      watching.stopped();
      socket.sendClose(1_000, "");
    }
  }

  private String awaitEnd(Watching watching, long untilMs)
      throws InterruptedException, ExecutionException {
    while (true) {
      try {
        return watching.ended.get(CHECK_S, TimeUnit.SECONDS);
      } catch (TimeoutException quiet) {
        if (health.lost()) {
          failed(new TimeoutException("the watch has fallen silent"));
          return watching.stopped();
        }
        if (clockMs.getAsLong() > untilMs) {
          return watching.stopped();
        }
      }
    }
  }

  /** After an exception a new list would end at the same object, and later ones never be seen. */
  private void skip(String object, Exception bug) {
    health.undecodable.increment();
    LOG.error("{}: skipping {} because of a bug", kind.path(), object, bug);
  }

  private void seen(T item) {
    @Nullable String before =
        item.tracked() ? known.put(item.key(), item.uid()) : known.remove(item.key());
    // After a lost watch, a name that was deleted and created again looks like an update.
    if (before != null && !before.equals(item.uid())) {
      handOver(item.key(), () -> sink.gone().accept(before, item.key()));
    }
    handOver(item.key(), () -> sink.seen().accept(item));
  }

  private void handOver(String key, Runnable object) {
    try {
      object.run();
    } catch (RuntimeException bug) {
      skip(key, bug);
    }
  }

  private void gone(String key) {
    @Nullable String uid = known.remove(key);
    if (uid != null) {
      handOver(key, () -> sink.gone().accept(uid, key));
    }
  }

  /** One watch. Events after its end are dropped, since the next watch receives them too. */
  private final class Watching implements WebSocket.Listener {
    final CompletableFuture<String> ended = new CompletableFuture<>();
    private String version;

    Watching(String version) {
      this.version = version;
    }

    @Override
    public synchronized void onMessage(WebSocket socket, String text) {
      if (ended.isDone()) {
        return;
      }
      health.eventReceived();
      try {
        apply(KubernetesJson.MAPPER.readTree(text));
        socket.request();
      } catch (Throwable e) {
        // Errors too: the waiting thread must be notified.
        ended.completeExceptionally(e);
      }
    }

    private void apply(JsonNode event) {
      JsonNode object = event.path("object");
      JsonNode metadata = object.path("metadata");
      switch (event.path("type").asText()) {
        case "ADDED", "MODIFIED" -> changed(object);
        case "DELETED" -> gone(key(metadata));
        case "BOOKMARK" -> health.bookmark();
        default -> {
          LOG.debug("the watch of {} is over: {}", kind.path(), object);
          ended.complete("");
          return;
        }
      }
      version = metadata.path("resourceVersion").asText();
    }

    private void changed(JsonNode object) {
      try {
        seen(kind.read(object));
      } catch (IOException | RuntimeException bug) {
        skip(key(object.path("metadata")), bug);
      }
    }

    private static String key(JsonNode metadata) {
      String name = metadata.path("name").asText();
      return metadata.has("namespace") ? metadata.get("namespace").asText() + "/" + name : name;
    }

    @Override
    public void onError(WebSocket socket, Throwable failure) {
      stopped();
    }

    @Override
    public void onClose(WebSocket socket, int code, String reason) {
      stopped();
    }

    /** Ends this watch and returns the resource version to continue from, however it ended. */
    synchronized String stopped() {
      ended.complete(version);
      return version;
    }
  }

  @Override
  public void close() {
    closed = true;
    thread.interrupt();
  }
}
