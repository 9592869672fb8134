package dev.tranche.process.listen;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpRequestDecoder;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.http.Http2Settings;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.net.impl.ConnectionBase;
import java.net.HttpURLConnection;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * Opens a TCP port with all its bounds. All ports but the one for nodes speak HTTP/1.1 alone: no
 * client of ours needs HTTP/2, and a connection with one request at a time keeps one head. So the
 * memory that strangers can take is the number of connections times a constant.
 */
public final class ListeningPort {
  private static final String DECODER = "httpDecoder";

  /** Of a request line. A list's continue token and filters fit. */
  private static final int LINE_BYTES_MAX = 4 << 10;

  /** Of all headers of a request; a ServiceAccount's token has one to two KiB. */
  private static final int HEAD_BYTES_MAX = 8 << 10;

  /** A burst of handshakes on a busy machine takes seconds. */
  private static final int HANDSHAKE_S_MAX = 30;

  /** A node has one stream, and briefly a second one. */
  private static final long STREAMS_PER_CONNECTION_MAX = 2;

  /** Of all headers of a call, each counted as 32 bytes more than it has. */
  private static final int CALL_HEAD_BYTES_MAX = 4 << 10;

  /** What a peer may send of a call before we have read it. */
  private static final int WINDOW_BYTES = 16 << 10;

  private final Vertx vertx;
  private final LimitedTransport transport;
  private final String name;
  private final ConnectionLimiter connections;

  /**
   * @param transport the transport of this Vert.x instance
   * @param name no other port of this transport has it
   */
  public ListeningPort(
      Vertx vertx, LimitedTransport transport, String name, ConnectionLimits limits) {
    this.vertx = vertx;
    this.transport = transport;
    this.name = name;
    this.connections = new ConnectionLimiter(limits);
  }

  /** Returns the value of the metrics' label {@code port}. */
  public String name() {
    return name;
  }

  /** Returns how many connections are open. */
  public int open() {
    return connections.open();
  }

  /** Returns how many connections were refused, or closed in favour of others. */
  public long refused() {
    return connections.refused();
  }

  /** Closes all connections that are not being answered. */
  public void closeUnused() {
    connections.closeUnused();
  }

  /**
   * Creates a server of HTTP/1.1 alone.
   *
   * @param options certificates and idle time; the bounds are set here
   * @param draining whether clients should use another process by now: a Service routes only new
   *     connections there
   */
  public HttpServer http1(
      HttpServerOptions options, BooleanSupplier draining, Handler<HttpServerRequest> requests) {
    return http1WithChunkedBodies(options, draining, withLength(requests));
  }

  /**
   * Creates a server of HTTP/1.1 alone that also takes bodies of unknown length: an API server that
   * proxies a request sends them. The caller bounds a body while it arrives.
   *
   * @param options certificates and idle time; the bounds are set here
   */
  public HttpServer http1WithChunkedBodies(
      HttpServerOptions options, BooleanSupplier draining, Handler<HttpServerRequest> requests) {
    options
        .setUseAlpn(false)
        .setHttp2ClearTextEnabled(false)
        .setDecompressionSupported(false)
        .setSslHandshakeTimeout(HANDSHAKE_S_MAX)
        // No client opens a WebSocket, yet each part of a body would pass through these handlers.
        .setPerMessageWebSocketCompressionSupported(false)
        .setPerFrameWebSocketCompressionSupported(false);
    var heads =
        new HttpDecoderConfig()
            .setMaxInitialLineLength(LINE_BYTES_MAX)
            .setMaxHeaderSize(HEAD_BYTES_MAX)
            .setMaxChunkSize(options.getMaxChunkSize())
            .setHeadersFactory(FewHeaders.FACTORY)
            .setTrailersFactory(FewHeaders.FACTORY);
    return vertx
        .createHttpServer(transport.limit(options, name, connections))
        .connectionHandler(
            connection -> {
              ChannelPipeline pipeline = channel(connection).pipeline();
              if (pipeline.get(DECODER) != null) {
                pipeline.replace(DECODER, DECODER, new HttpRequestDecoder(heads));
                pipeline.addAfter("httpEncoder", "guard", new Http1Guard(connections, draining));
              }
            })
        .requestHandler(requests);
  }

  private static Handler<HttpServerRequest> withLength(Handler<HttpServerRequest> requests) {
    return request -> {
      if (request.headers().contains(HttpHeaders.TRANSFER_ENCODING)) {
        request
            .response()
            .setStatusCode(HttpURLConnection.HTTP_LENGTH_REQUIRED)
            .putHeader("content-type", "text/plain")
            .end("send a body with Content-Length, not chunked\n")
            .onComplete(sent -> request.connection().close());
      } else {
        requests.handle(request);
      }
    };
  }

  private static Channel channel(HttpConnection connection) {
    return ((ConnectionBase) connection).channel();
  }

  /**
   * Records that the peer of a connection has shown a credential. Its connection then takes no
   * place of those without one, and ends for no other.
   */
  public void admit(HttpConnection connection) {
    connections.admit(channel(connection));
  }

  /**
   * Creates a server of gRPC: HTTP/2 alone, over TLS, without packed messages. The caller admits a
   * connection whose peer has shown a credential, and closes it when its call has ended.
   *
   * @param options certificates and idle time; the bounds are set here
   */
  public HttpServer grpc(HttpServerOptions options, Handler<HttpServerRequest> requests) {
    options
        .setSsl(true)
        .setUseAlpn(true)
        .setAlpnVersions(List.of(HttpVersion.HTTP_2))
        .setDecompressionSupported(false)
        .setSslHandshakeTimeout(HANDSHAKE_S_MAX)
        .setInitialSettings(
            new Http2Settings()
                .setMaxConcurrentStreams(STREAMS_PER_CONNECTION_MAX)
                .setMaxHeaderListSize(CALL_HEAD_BYTES_MAX)
                .setInitialWindowSize(WINDOW_BYTES)
                // There is one call per connection, so no header is sent twice, least of all the
                // token.
                .setHeaderTableSize(0));
    return vertx
        .createHttpServer(transport.limit(options, name, connections))
        .connectionHandler(
            connection -> {
              ChannelPipeline pipeline = channel(connection).pipeline();
              if (pipeline.get(DECODER) == null) {
                pipeline.addFirst("taken", new ReadWhileTaken());
              } else {
                // A client without ALPN gets HTTP/1.1.
                connection.close();
              }
            })
        .requestHandler(resettingAnswered(GrpcEncoding.refusingPacked(requests)));
  }

  /**
   * Resets each call that is answered before its peer has ended its side. Otherwise its head would
   * be kept until the peer ends it, or the connection.
   */
  private Handler<HttpServerRequest> resettingAnswered(Handler<HttpServerRequest> calls) {
    return call -> {
      HttpServerResponse response = call.response();
      // Once the end is sent: the peer reads the answer before the reset.
      response.endHandler(
          ended ->
              vertx.runOnContext(
                  later -> {
                    if (!call.isEnded()) {
                      var _ = response.reset(0);
                    }
                  }));
      calls.handle(call);
    };
  }

  /**
   * Reads nothing from a peer that does not take what it is sent. Its pings and settings would be
   * acknowledged all the same, and the acknowledgements kept.
   */
  private static final class ReadWhileTaken extends ChannelInboundHandlerAdapter {
    @Override
    public void channelWritabilityChanged(ChannelHandlerContext context) {
      context.channel().config().setAutoRead(context.channel().isWritable());
      context.fireChannelWritabilityChanged();
    }
  }
}
