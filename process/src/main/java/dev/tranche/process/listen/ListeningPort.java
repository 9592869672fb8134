package dev.tranche.process.listen;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.vertx.core.Handler;
import io.vertx.core.Vertx;
import io.vertx.core.http.Http2Settings;
import io.vertx.core.http.HttpConnection;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.HttpVersion;
import io.vertx.core.net.impl.ConnectionBase;
import java.net.InetSocketAddress;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Opens a TCP port with all its bounds. All ports but the one for nodes speak HTTP/1.1 alone: no
 * client of ours needs HTTP/2, and a connection with one request at a time keeps one head. So the
 * memory that strangers can take is the number of connections times a constant.
 */
public final class ListeningPort {
  /** Of a request line. A list's continue token and filters fit. */
  private static final int LINE_BYTES_MAX = 4 << 10;

  /** Of all headers of a request; a ServiceAccount's token has one to two KiB. */
  private static final int HEAD_BYTES_MAX = 8 << 10;

  /** A node has one stream, and briefly a second one. */
  private static final long STREAMS_PER_CONNECTION_MAX = 2;

  /** What a peer may send before we have read it. */
  private static final int WINDOW_BYTES = (64 << 10) - 1;

  private final Vertx vertx;
  private final LimitedTransport transport;
  private final String name;
  private final ConnectionLimiter connections;

  /**
   * @param transport the transport of this Vert.x instance
   * @param name no other port of this transport has it
   */
  public ListeningPort(
      Vertx vertx, LimitedTransport transport, String name, ConnectionLimiter connections) {
    this.vertx = vertx;
    this.transport = transport;
    this.name = name;
    this.connections = connections;
  }

  /**
   * Creates a server of HTTP/1.1 alone.
   *
   * @param options certificates and idle time; the bounds are set here
   */
  public HttpServer http1(HttpServerOptions options, Handler<HttpServerRequest> requests) {
    return http1(options, null, false, requests);
  }

  /**
   * Creates a server of HTTP/1.1 alone that also takes bodies of unknown length: an API server that
   * proxies a request sends them. The caller bounds a body while it arrives.
   *
   * @param options certificates and idle time; the bounds are set here
   */
  public HttpServer http1WithChunkedBodies(
      HttpServerOptions options, Handler<HttpServerRequest> requests) {
    return http1(options, null, true, requests);
  }

  /**
   * @param drain closes the connections once clients should use another process
   */
  public HttpServer http1(
      HttpServerOptions options, ConnectionDrain drain, Handler<HttpServerRequest> requests) {
    return http1(options, drain, false, requests);
  }

  private HttpServer http1(
      HttpServerOptions options,
      @Nullable ConnectionDrain drain,
      boolean takesChunked,
      Handler<HttpServerRequest> requests) {
    options
        .setUseAlpn(false)
        .setHttp2ClearTextEnabled(false)
        .setDecompressionSupported(false)
        .setMaxInitialLineLength(LINE_BYTES_MAX)
        .setMaxHeaderSize(HEAD_BYTES_MAX)
        // No client opens a WebSocket, yet each part of a body would pass through these handlers.
        .setPerMessageWebSocketCompressionSupported(false)
        .setPerFrameWebSocketCompressionSupported(false);
    return vertx
        .createHttpServer(transport.limit(options, name, connections))
        .connectionHandler(
            connection -> {
              guard(connection, takesChunked);
              if (drain != null) {
                drain.track(connection);
              }
            })
        .requestHandler(drain == null ? requests : drain.counting(requests));
  }

  private void guard(HttpConnection connection, boolean takesChunked) {
    Channel channel = ((ConnectionBase) connection).channel();
    if (channel.remoteAddress() instanceof InetSocketAddress remote) {
      var guard = new Http1Guard(connections, remote, takesChunked);
      ChannelPipeline pipeline = channel.pipeline();
      pipeline.addBefore("httpDecoder", "framing", new Http1Framing(guard));
      pipeline.addAfter("httpEncoder", "guard", guard);
    } else {
      // It is closed already.
      connection.close();
    }
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
        .setHttp2ConnectionWindowSize(WINDOW_BYTES)
        .setInitialSettings(
            new Http2Settings()
                .setMaxConcurrentStreams(STREAMS_PER_CONNECTION_MAX)
                .setMaxHeaderListSize(HEAD_BYTES_MAX)
                .setInitialWindowSize(WINDOW_BYTES)
                // There is one call per connection, so no header is sent twice, least of all the
                // token.
                .setHeaderTableSize(0));
    return vertx
        .createHttpServer(transport.limit(options, name, connections))
        .connectionHandler(
            connection -> {
              Channel channel = ((ConnectionBase) connection).channel();
              if (channel.pipeline().get("httpDecoder") == null) {
                channel.pipeline().addFirst("taken", new ReadWhileTaken());
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
