package dev.tranche.extender.watch;

import dev.tranche.api.Backoff;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.process.client.ApiClient;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.http.HttpResponse;
import io.fabric8.kubernetes.client.http.WebSocket;
import io.fabric8.kubernetes.client.http.WebSocketHandshakeException;
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
 * Delivers all objects of one kind and then every change. It lists them page by page and watches
 * from there, until it is closed. It keeps names and uids only. What we decide on is in the Ledger,
 * and thousands of whole Pods and Nodes would be most of our memory.
 */
public final class Reflector<T extends WatchedObject> implements AutoCloseable {
  private static final int PAGE = 1_000;

  /** A page that is too large is asked for again with as many times fewer objects. */
  private static final int SMALLER = 10;

  private static final int GONE = 410;
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
  private final ObjectDecoder<?, T> codec;
  private final Sink<T> sink;
  private final LongSupplier clockMs;
  private final WatchHealth health;

  /** The uids of the tracked objects, by key. */
  private final Map<String, String> known = new HashMap<>();

  private final Thread thread;
  private volatile boolean closed;

  /** Objects of a page; confined to the thread. */
  private int limit = PAGE;

  /**
   * Receives the objects, on one thread at a time.
   *
   * @param gone receives the uid and the key
   * @param listed all existing objects have been delivered; after a lost watch, also the deletions
   *     that it missed
   */
  public record Sink<T>(Consumer<T> seen, BiConsumer<String, String> gone, Runnable listed) {}

  public <M extends HasMetadata> Reflector(
      KubernetesClient client,
      ResourceKind<M, T> kind,
      Sink<T> sink,
      ExtenderMetrics metrics,
      LongSupplier clockMs) {
    // Without the client's own retries: a retried call may open after we have given it up.
    this.client = ApiClient.withoutRetries(client, (int) TimeUnit.SECONDS.toMillis(CALL_S_MAX));
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
        // Errors too: without this thread, no further change of this kind would be seen.
        version = "";
        failed(unreadable);
        pauseMs = again.next();
      }
      pause(pauseMs);
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
    health.failed();
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
    boolean allNamed = true;
    String next = "";
    WatchEvent.Page<T> page;
    limit = PAGE;
    do {
      page = pageWithinBounds(next);
      for (T item : page.items()) {
        listed.add(item.key());
        seen(item);
      }
      for (WatchEvent.Undecodable<T> object : page.undecodable()) {
        skipUndecodable(object);
        listed.add(object.key());
        allNamed &= !object.key().isEmpty();
      }
      next = page.next();
    } while (!next.isEmpty());
    Set<String> missing = new HashSet<>(known.keySet());
    missing.removeAll(listed);
    if (allNamed) {
      // A nameless object that can't be read could be any of the missing ones.
      missing.forEach(this::gone);
    }
    health.eventReceived();
    sink.listed().run();
    return page.resourceVersion();
  }

  /** Asks for fewer objects until a page of them is within the bounds. */
  private WatchEvent.Page<T> pageWithinBounds(String next)
      throws IOException, InterruptedException, ExecutionException, TimeoutException {
    while (true) {
      try {
        return page(next);
      } catch (BoundedBody.TooLarge tooLarge) {
        if (limit == 1) {
          String what =
              "a single object of %s is too large; shorten what fills it, such as an annotation"
                  .formatted(kind.path());
          throw new IOException(what, tooLarge);
        }
        limit = Math.max(1, limit / SMALLER);
        LOG.info("{}: {}; lists {} objects at once", kind.path(), tooLarge.getMessage(), limit);
      }
    }
  }

  private WatchEvent.Page<T> page(String next)
      throws IOException, InterruptedException, ExecutionException, TimeoutException {
    String more =
        next.isEmpty() ? "" : "&continue=" + URLEncoder.encode(next, StandardCharsets.UTF_8);
    var http = client.getHttpClient();
    var request =
        http.newHttpRequestBuilder()
            .uri(uri("?limit=" + limit + more))
            .header("Accept", codec.accept())
            .header("Accept-Encoding", GZIP)
            .timeout(CALL_S_MAX, TimeUnit.SECONDS)
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
        throw new IOException("status " + answer.code() + " " + answer.message());
      }
      return codec.page(body(answer, sent), answer.header("Content-Type"));
    }
  }

  /**
   * Returns the uncompressed body. Objects of one kind are similar and compress to a twentieth.
   * Decrypting and passing on the rest would be a fifth of the work at startup. The body is read as
   * it comes: a page of large pods is larger than the heap.
   */
  private static InputStream body(HttpResponse<InputStream> answer, InputStream sent)
      throws IOException {
    return GZIP.equalsIgnoreCase(answer.header("Content-Encoding"))
        ? new GZIPInputStream(sent, UNPACKED_BYTES)
        : sent;
  }

  private URI uri(String query) {
    return ApiClient.uri(client, kind.path() + query);
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
    CompletableFuture<WebSocket> opening =
        client
            .getHttpClient()
            .newWebSocketBuilder()
            .uri(WebSocket.toWebSocketUri(uri(query)))
            .header("Accept", codec.accept())
            // The API server's WebSocket handshake requires an Origin, with any value.
            .header("Origin", client.getMasterUrl().toString())
            .connectTimeout(CALL_S_MAX, TimeUnit.SECONDS)
            .buildAsync(watching);
    WebSocket socket;
    try {
      socket = opening.get(CALL_S_MAX, TimeUnit.SECONDS);
    } catch (InterruptedException | TimeoutException late) {
      // It may still open later, beside the next one.
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

  private void skipUndecodable(WatchEvent.Undecodable<T> object) {
    health.undecodable();
    String name = object.key().isEmpty() ? "an object without a name" : object.key();
    LOG.warn("{}: cannot read {}, skipping it: {}", kind.path(), name, object.why());
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

  /** After an exception a new list would end at the same object, and later ones never be seen. */
  private void handOver(String key, Runnable object) {
    try {
      object.run();
    } catch (RuntimeException bug) {
      health.undecodable();
      LOG.error("{}: skipping {} because of a bug", kind.path(), key, bug);
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
    public void onMessage(WebSocket socket, String text) {
      onEvent(socket, () -> codec.change(text));
    }

    @Override
    public void onMessage(WebSocket socket, ByteBuffer message) {
      onEvent(socket, () -> codec.change(message));
    }

    private synchronized void onEvent(WebSocket socket, Decoding<T> decoding) {
      if (ended.isDone()) {
        return;
      }
      health.eventReceived();
      try {
        apply(decoding.decoded());
        socket.request();
      } catch (Throwable e) {
        // Errors too: the waiting thread must be notified.
        ended.completeExceptionally(e);
      }
    }

    private void apply(WatchEvent<T> change) {
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
        case WatchEvent.Undecodable<T> object -> {
          skipUndecodable(object);
          if (object.gone()) {
            // Only a new list, without the object, can show that it's gone.
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

    /** Ends this watch and returns the resource version to continue from, however it ended. */
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
