package dev.tranche.extender.watch;

import dev.tranche.api.Backoff;
import dev.tranche.extender.client.ApiClient;
import dev.tranche.extender.metrics.ExtenderMetrics;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.http.HttpResponse;
import io.fabric8.kubernetes.client.http.WebSocket;
import io.fabric8.kubernetes.client.http.WebSocketHandshakeException;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.ByteBuffer;
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
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Shows all objects of one kind and then every change: lists them page by page and watches from
 * there, for as long as we run. It keeps names and uids only: what we decide on is in the Ledger,
 * and thousands of whole Pods and Nodes would be most of our memory.
 */
public final class Reflector<T extends WatchedObject> implements AutoCloseable {
  private static final int PAGE = 1_000;
  private static final int GONE = 410;
  private static final String GZIP = "gzip";
  private static final int UNPACKED_BYTES = 1 << 14;
  private static final long CALL_S_MAX = 30;
  private static final long LOOK_S = 5;

  /** After a watch that has lasted. */
  static final long SOON_MS = 250;

  static final long LASTING_MS = 10_000;
  static final long PAUSE_MS_MAX = 30_000;

  /** The API server ends a watch after that; so much later it has been lost unnoticed. */
  private static final int WATCH_S_MIN = 240;

  private static final int WATCH_S_MAX = 360;
  private static final Logger LOG = LoggerFactory.getLogger(Reflector.class);

  private final KubernetesClient client;
  private final ResourceKind<?, T> kind;
  private final ObjectDecoder<?, T> codec;
  private final Sink<T> sink;
  private final LongSupplier clockMs;
  private final WatchHealth health;

  /** The uids of those that matter, by key. */
  private final Map<String, String> known = new HashMap<>();

  private final Thread thread;
  private volatile boolean closed;

  /**
   * Told on one thread at a time.
   *
   * @param gone uid and key
   * @param listed everything there was has been shown; after a lost watch also what had gone
   *     meanwhile
   */
  public record Sink<T>(Consumer<T> seen, BiConsumer<String, String> gone, Runnable listed) {}

  public <M extends HasMetadata> Reflector(
      KubernetesClient client,
      ResourceKind<M, T> kind,
      Sink<T> sink,
      ExtenderMetrics metrics,
      LongSupplier clockMs) {
    // What is tried again behind our back may open after we have given it up.
    this.client = ApiClient.once(client, (int) TimeUnit.SECONDS.toMillis(CALL_S_MAX));
    this.kind = kind;
    this.codec = new ObjectDecoder<>(kind, client.getKubernetesSerialization());
    this.sink = sink;
    this.clockMs = clockMs;
    this.health = new WatchHealth(kind.plural(), metrics, clockMs);
    this.thread = Thread.ofVirtual().name("watch " + kind.path()).unstarted(this::run);
  }

  public void start() {
    thread.start();
  }

  private void run() {
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
        // Errors too: without this thread nothing of this kind is seen any more.
        version = "";
        failed(unreadable);
        pauseMs = again.next();
      }
      pause(pauseMs);
    }
  }

  /** One that only opens is no sign of health, and behind it comes a list of everything. */
  static long afterWatch(Backoff again, long lastedMs) {
    if (lastedMs < LASTING_MS) {
      return again.next();
    }
    again.reset();
    return SOON_MS;
  }

  private void failed(Throwable why) {
    health.failed();
    LOG.warn("cannot watch {}, will retry: {}", kind.path(), why.toString());
  }

  /** Never all replicas at once. */
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
    boolean allNamed = true;
    String next = "";
    WatchEvent.Page<T> page;
    do {
      page = page(next);
      for (T item : page.items()) {
        listed.add(item.key());
        seen(item);
      }
      for (WatchEvent.Unread<T> there : page.unread()) {
        unread(there);
        listed.add(there.key());
        allNamed &= !there.key().isEmpty();
      }
      next = page.next();
    } while (!next.isEmpty());
    Set<String> missing = new HashSet<>(known.keySet());
    missing.removeAll(listed);
    if (allNamed) {
      // Of one without a name we cannot say that it is not one of those.
      missing.forEach(this::gone);
    }
    health.heard();
    sink.listed().run();
    return page.resourceVersion();
  }

  private WatchEvent.Page<T> page(String next)
      throws IOException, InterruptedException, ExecutionException, TimeoutException {
    String more =
        next.isEmpty() ? "" : "&continue=" + URLEncoder.encode(next, StandardCharsets.UTF_8);
    var http = client.getHttpClient();
    var request =
        http.newHttpRequestBuilder()
            .uri(uri("?limit=" + PAGE + more))
            .header("Accept", codec.accept())
            .header("Accept-Encoding", GZIP)
            .timeout(CALL_S_MAX, TimeUnit.SECONDS)
            .build();
    CompletableFuture<HttpResponse<byte[]>> asked = http.sendAsync(request, byte[].class);
    HttpResponse<byte[]> answer;
    try {
      answer = asked.get(CALL_S_MAX, TimeUnit.SECONDS);
    } catch (InterruptedException | TimeoutException late) {
      asked.cancel(true);
      throw late;
    }
    if (!answer.isSuccessful()) {
      throw new IOException("status " + answer.code() + " " + answer.message());
    }
    try (InputStream body = body(answer)) {
      return codec.page(body, answer.header("Content-Type"));
    }
  }

  /**
   * Objects of one kind are much alike and compress to a twentieth. To decrypt and pass on the rest
   * would be a fifth of the work at our start.
   */
  private static InputStream body(HttpResponse<byte[]> answer) throws IOException {
    var sent = new ByteArrayInputStream(answer.body());
    return GZIP.equalsIgnoreCase(answer.header("Content-Encoding"))
        ? new GZIPInputStream(sent, UNPACKED_BYTES)
        : sent;
  }

  private URI uri(String query) {
    return ApiClient.uri(client, kind.path() + query);
  }

  /**
   * @return where to watch on from; empty: only a new list can tell
   */
  private String watch(String from)
      throws IOException, InterruptedException, ExecutionException, TimeoutException {
    int seconds = ThreadLocalRandom.current().nextInt(WATCH_S_MIN, WATCH_S_MAX);
    String query =
        "?watch=true&allowWatchBookmarks=true&timeoutSeconds=%d&resourceVersion=%s"
            .formatted(seconds, from);
    var watching = new Watching(from);
    CompletableFuture<WebSocket> opening =
        client
            .getHttpClient()
            .newWebSocketBuilder()
            .uri(WebSocket.toWebSocketUri(uri(query)))
            .header("Accept", codec.accept())
            // The API server's handshake wants one, whatever it is.
            .header("Origin", client.getMasterUrl().toString())
            .connectTimeout(CALL_S_MAX, TimeUnit.SECONDS)
            .buildAsync(watching);
    WebSocket socket;
    try {
      socket = opening.get(CALL_S_MAX, TimeUnit.SECONDS);
    } catch (InterruptedException | TimeoutException late) {
      // It may open yet, and the next one beside it.
      watching.stopped();
      var _ = opening.thenAccept(opened -> opened.sendClose(1_000, ""));
      throw late;
    } catch (ExecutionException refused) {
      if (refused.getCause() instanceof WebSocketHandshakeException handshake
          && handshake.getResponse().code() == GONE) {
        return "";
      }
      throw refused;
    }
    try {
      health.heard();
      return end(watching, clockMs.getAsLong() + TimeUnit.SECONDS.toMillis(seconds + CALL_S_MAX));
    } catch (ExecutionException unreadable) {
      throw new IOException("an event of the watch", unreadable.getCause());
    } finally {
      watching.stopped();
      socket.sendClose(1_000, "");
    }
  }

  private String end(Watching watching, long untilMs)
      throws InterruptedException, ExecutionException {
    while (true) {
      try {
        return watching.ended.get(LOOK_S, TimeUnit.SECONDS);
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

  private void unread(WatchEvent.Unread<T> object) {
    health.unread();
    String name = object.key().isEmpty() ? "an object without a name" : object.key();
    LOG.warn("{}: cannot read {}, skipping it: {}", kind.path(), name, object.why());
  }

  private void seen(T item) {
    @Nullable String before =
        item.matters() ? known.put(item.key(), item.uid()) : known.remove(item.key());
    // After a lost watch, a name that was deleted and given again looks like an update.
    if (before != null && !before.equals(item.uid())) {
      sink.gone().accept(before, item.key());
    }
    sink.seen().accept(item);
  }

  private void gone(String key) {
    @Nullable String uid = known.remove(key);
    if (uid != null) {
      sink.gone().accept(uid, key);
    }
  }

  /** One watch; what it hears after its end is dropped, since the next one hears it too. */
  private final class Watching implements WebSocket.Listener {
    final CompletableFuture<String> ended = new CompletableFuture<>();
    private String version;

    Watching(String version) {
      this.version = version;
    }

    @Override
    public void onMessage(WebSocket socket, String text) {
      hear(socket, () -> codec.change(text));
    }

    @Override
    public void onMessage(WebSocket socket, ByteBuffer message) {
      hear(socket, () -> codec.change(message));
    }

    private synchronized void hear(WebSocket socket, Decoding<T> decoding) {
      if (ended.isDone()) {
        return;
      }
      health.heard();
      try {
        take(decoding.decoded());
        socket.request();
      } catch (Throwable e) {
        // Errors too: the one who waits must hear of it.
        ended.completeExceptionally(e);
      }
    }

    private void take(WatchEvent<T> change) {
      switch (change) {
        case WatchEvent.Seen<T>(T item) -> {
          version = item.resourceVersion();
          seen(item);
        }
        case WatchEvent.Gone<T>(T item) -> {
          version = item.resourceVersion();
          gone(item.key());
        }
        case WatchEvent.Bookmark<T>(String at) -> {
          version = at;
          health.bookmark();
        }
        case WatchEvent.Unread<T> object -> {
          unread(object);
          if (object.gone()) {
            // Only a list that it is missing from can tell.
            ended.complete("");
          }
        }
        case WatchEvent.Ended<T>(int code, String message) -> {
          LOG.debug("the watch of {} is over: {} {}", kind.path(), code, message);
          ended.complete("");
        }
      }
    }

    @Override
    public void onError(WebSocket socket, Throwable failure) {
      stopped();
    }

    @Override
    public void onClose(WebSocket socket, int code, String reason) {
      stopped();
    }

    /** Goes on from here, however it ended. */
    synchronized String stopped() {
      ended.complete(version);
      return version;
    }
  }

  @FunctionalInterface
  private interface Decoding<T extends WatchedObject> {
    WatchEvent<T> decoded() throws IOException;
  }

  @Override
  public void close() {
    closed = true;
    thread.interrupt();
  }
}
