package dev.tranche.process.client.transport;

import io.fabric8.kubernetes.client.RequestConfig;
import io.fabric8.kubernetes.client.http.AsyncBody;
import io.fabric8.kubernetes.client.http.HttpResponse;
import io.fabric8.kubernetes.client.http.StandardHttpClient;
import io.fabric8.kubernetes.client.http.StandardHttpRequest;
import io.fabric8.kubernetes.client.http.StandardHttpRequest.BodyContent;
import io.fabric8.kubernetes.client.http.StandardHttpRequest.ByteArrayBodyContent;
import io.fabric8.kubernetes.client.http.StandardHttpRequest.InputStreamBodyContent;
import io.fabric8.kubernetes.client.http.StandardHttpRequest.StringBodyContent;
import io.fabric8.kubernetes.client.http.StandardWebSocketBuilder;
import io.fabric8.kubernetes.client.http.WebSocket;
import io.fabric8.kubernetes.client.http.WebSocketResponse;
import io.fabric8.kubernetes.client.http.WebSocketUpgradeResponse;
import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.http.UpgradeRejectedException;
import io.vertx.core.http.WebSocketConnectOptions;
import io.vertx.core.net.HostAndPort;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** One client: its interceptors and limits over connections that it may share with others. */
final class Transport extends StandardHttpClient<Transport, VertxTransport, TransportBuilder> {
  final Connections connections;

  Transport(TransportBuilder builder, Connections connections, AtomicBoolean closed) {
    super(builder, closed);
    this.connections = connections;
  }

  @Override
  public CompletableFuture<HttpResponse<AsyncBody>> consumeBytesDirect(
      StandardHttpRequest request, AsyncBody.Consumer<List<ByteBuffer>> consumer) {
    long limitMs = limitMs(request);
    var options =
        new RequestOptions()
            .setMethod(HttpMethod.valueOf(request.method()))
            .setAbsoluteURI(request.uri().toString())
            .setHeaders(headers(request))
            .setConnectTimeout(limitMs);
    HostAndPort authority = Connections.authority(options);
    connections.setTlsServerName(options);
    @Nullable Buffer body = body(request.body());
    long untilMs = nowMs() + limitMs;
    return onLoop(
        () ->
            connections
                .http()
                .request(options)
                .compose(
                    open -> {
                      open.authority(authority);
                      if (limitMs > 0) {
                        open.idleTimeout(Math.max(1, untilMs - nowMs()));
                      }
                      return (body == null ? open.send() : open.send(body))
                          .onFailure(failure -> connections.closeIfDead(open, failure));
                    })
                .map(
                    response ->
                        new StreamedResponse(request, response, consumer, connections, limitMs)));
  }

  /**
   * Returns the request's own timeout, or else the client's. 0 means none, as for streams that may
   * be quiet for long.
   */
  private long limitMs(StandardHttpRequest request) {
    if (request.getTimeout() != null || request.isForStreaming()) {
      return millis(request.getTimeout());
    }
    @Nullable RequestConfig config = getTag(RequestConfig.class);
    return config == null ? 0 : config.getRequestTimeout();
  }

  private static MultiMap headers(StandardHttpRequest request) {
    MultiMap headers = HttpHeaders.headers();
    request.headers().forEach(headers::set);
    if (request.getContentType() != null) {
      headers.set(HttpHeaders.CONTENT_TYPE, request.getContentType());
    }
    return headers;
  }

  private static @Nullable Buffer body(@Nullable BodyContent content) {
    return switch (content) {
      case null -> null;
      case StringBodyContent text -> Buffer.buffer(text.getContent());
      case ByteArrayBodyContent bytes -> Buffer.buffer(bytes.getContent());
      case InputStreamBodyContent stream -> read(stream);
      default -> throw new IllegalArgumentException("no known body: " + content);
    };
  }

  private static Buffer read(InputStreamBodyContent stream) {
    try (var in = stream.getContent()) {
      return Buffer.buffer(in.readAllBytes());
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  @Override
  public CompletableFuture<WebSocketResponse> buildWebSocketDirect(
      StandardWebSocketBuilder socket, WebSocket.Listener listener) {
    StandardHttpRequest request = socket.asHttpRequest();
    var options =
        new WebSocketConnectOptions()
            .setAbsoluteURI(WebSocket.toWebSocketUri(request.uri()).toString())
            .setHeaders(headers(request));
    if (socket.getSubprotocol() != null) {
      options.addSubProtocol(socket.getSubprotocol());
    }
    options.putHeader(HttpHeaders.HOST, Connections.authority(options).toString());
    connections.setTlsServerName(options);
    long timeoutMs = millis(request.getTimeout());
    if (timeoutMs > 0) {
      options.setTimeout(timeoutMs);
    }
    return onLoop(
        () -> {
          var opening = new Socket(connections.sockets().webSocket(), listener);
          return opening
              .connect(options)
              .map(v -> new WebSocketResponse(new WebSocketUpgradeResponse(request), opening))
              .recover(failure -> refused(request, failure));
        });
  }

  private static Future<WebSocketResponse> refused(StandardHttpRequest request, Throwable failure) {
    return failure instanceof UpgradeRejectedException rejected
        ? Future.succeededFuture(
            new WebSocketResponse(
                new WebSocketUpgradeResponse(
                    request, rejected.getStatus(), StreamedResponse.map(rejected.getHeaders())),
                rejected))
        : Future.failedFuture(failure);
  }

  /**
   * Runs a whole call on the event loop. Every failure becomes an IOException, so that it is
   * retried.
   */
  private <T> CompletableFuture<T> onLoop(Supplier<Future<T>> call) {
    var result = new CompletableFuture<T>();
    connections
        .loop()
        .runOnContext(
            v ->
                started(call)
                    .onComplete(
                        result::complete, failure -> result.completeExceptionally(asIo(failure))));
    return result;
  }

  /**
   * Starts a call. A client that was closed meanwhile throws; the future must fail on errors, too.
   */
  private static <T> Future<T> started(Supplier<Future<T>> call) {
    try {
      return call.get();
    } catch (Throwable closed) {
      return Future.failedFuture(closed);
    }
  }

  static IOException asIo(Throwable failure) {
    return failure instanceof IOException io ? io : new IOException(failure.getMessage(), failure);
  }

  private static long nowMs() {
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
  }

  private static long millis(@Nullable Duration duration) {
    return duration == null ? 0 : duration.toMillis();
  }

  @Override
  protected void doClose() {
    connections.close();
  }
}
