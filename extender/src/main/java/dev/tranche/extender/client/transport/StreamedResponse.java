package dev.tranche.extender.client.transport;

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

/** A response and its body, of which the next piece comes when it is asked for. */
final class StreamedResponse implements HttpResponse<AsyncBody>, AsyncBody {
  private final HttpRequest request;
  private final HttpClientResponse response;
  private final AsyncBody.Consumer<List<ByteBuffer>> consumer;
  private final Connections connections;
  private final long limitMs;
  private final CompletableFuture<Void> done = new CompletableFuture<>();
  private volatile boolean asked;

  /** Since we looked last, from either side. */
  private volatile boolean heard;

  /**
   * On the event loop.
   *
   * @param limitMs a piece that was asked for may take twice as long to come; 0: for ever
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
    response.handler(this::hand);
    response.endHandler(v -> done.complete(null));
    response.exceptionHandler(failure -> done.completeExceptionally(Transport.asIo(failure)));
    if (limitMs > 0) {
      long timer = connections.vertx().setPeriodic(limitMs, id -> look());
      var _ = done.whenComplete((end, failure) -> connections.vertx().cancelTimer(timer));
    }
  }

  private void look() {
    if (asked && !heard) {
      var silent = new TimeoutException("nothing more was read for " + limitMs + " ms");
      fail(silent);
      connections.failed(response.request(), silent);
    }
    heard = false;
  }

  private void hand(Buffer piece) {
    asked = false;
    heard = true;
    if (done.isDone()) {
      return;
    }
    try {
      consumer.consume(List.of(ByteBuffer.wrap(piece.getBytes())), this);
    } catch (Throwable refused) {
      // Errors too: the one who waits must hear of it.
      fail(refused);
    }
  }

  private void fail(Throwable why) {
    done.completeExceptionally(Transport.asIo(why));
    response.request().reset();
  }

  @Override
  public void consume() {
    asked = true;
    heard = true;
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
