package dev.tranche.process.client.transport;

import io.fabric8.kubernetes.client.http.AsyncBody;
import io.fabric8.kubernetes.client.http.HttpRequest;
import io.fabric8.kubernetes.client.http.HttpResponse;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClientResponse;
import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;

/** A response whose body is delivered piece by piece, as it is requested. */
final class StreamedResponse implements HttpResponse<AsyncBody>, AsyncBody {
  private final HttpRequest request;
  private final HttpClientResponse response;
  private final AsyncBody.Consumer<List<ByteBuffer>> consumer;
  private final Connections connections;
  private final long limitMs;
  private final CompletableFuture<Void> done = new CompletableFuture<>();
  private volatile boolean requested;

  /** Whether a piece was requested or received since the last check. */
  private volatile boolean activeSinceCheck;

  /**
   * Must run on the event loop.
   *
   * @param limitMs a requested piece may take up to twice as long to arrive; 0: no limit
   */
  StreamedResponse(
      HttpRequest request,
      HttpClientResponse response,
      AsyncBody.Consumer<List<ByteBuffer>> consumer,
      Connections connections,
      long limitMs) {
    this.request = request;
    this.response = response;
    this.consumer = consumer;
    this.connections = connections;
    this.limitMs = limitMs;
    response.pause();
    response.handler(this::deliver);
    response.endHandler(v -> done.complete(null));
    response.exceptionHandler(failure -> done.completeExceptionally(Transport.asIo(failure)));
    if (limitMs > 0) {
      long timer = connections.vertx().setPeriodic(limitMs, id -> checkTimeout());
      var _ = done.whenComplete((end, failure) -> connections.vertx().cancelTimer(timer));
    }
  }

  private void checkTimeout() {
    if (requested && !activeSinceCheck) {
      var silent = new TimeoutException("nothing more was read for " + limitMs + " ms");
      fail(silent);
      connections.closeIfDead(response.request(), silent);
    }
    activeSinceCheck = false;
  }

  private void deliver(Buffer piece) {
    requested = false;
    activeSinceCheck = true;
    if (done.isDone()) {
      return;
    }
    try {
      consumer.consume(List.of(ByteBuffer.wrap(piece.getBytes())), this);
    } catch (Throwable refused) {
      // Errors too: the waiting caller must be notified.
      fail(refused);
    }
  }

  private void fail(Throwable why) {
    done.completeExceptionally(Transport.asIo(why));
    response.request().reset();
  }

  @Override
  public void consume() {
    requested = true;
    activeSinceCheck = true;
    response.fetch(1);
  }

  @Override
  public CompletableFuture<Void> done() {
    return done;
  }

  @Override
  public void cancel() {
    if (done.cancel(false)) {
      response.request().reset();
    }
  }

  @Override
  public int code() {
    return response.statusCode();
  }

  @Override
  public AsyncBody body() {
    return this;
  }

  @Override
  public HttpRequest request() {
    return request;
  }

  @Override
  public Optional<HttpResponse<?>> previousResponse() {
    return Optional.empty();
  }

  @Override
  public List<String> headers(String name) {
    return response.headers().getAll(name);
  }

  @Override
  public Map<String, List<String>> headers() {
    return map(response.headers());
  }

  static Map<String, List<String>> map(MultiMap headers) {
    var map = new LinkedHashMap<String, List<String>>();
    headers.names().forEach(name -> map.put(name, headers.getAll(name)));
    return map;
  }
}
