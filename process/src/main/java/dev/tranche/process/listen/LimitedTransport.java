package dev.tranche.process.listen;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.impl.transports.NioTransport;
import io.vertx.core.impl.transports.TransportInternal;
import io.vertx.core.net.NetServerOptions;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Limits connections as they are accepted. A server's own handlers see a connection only after its
 * TLS handshake and, with HTTP/2, its preface. A client that sends neither would never be counted.
 */
public final class LimitedTransport extends NioTransport {
  private final Map<String, ConnectionLimiter> limiters = new ConcurrentHashMap<>();

  /** Creates a Vert.x instance whose servers can be limited by {@link #limit}. */
  public Vertx vertx(VertxOptions options) {
    var transport = new TransportInternal("nio", true, null, this);
    return Vertx.builder().with(options).withTransport(transport).build();
  }

  /**
   * Limits the server that is opened with these options.
   *
   * @param port a name for the port that no other server of this transport has
   * @param options the options of a server whose address is given to {@code listen()}
   */
  HttpServerOptions limit(HttpServerOptions options, String port, ConnectionLimiter limiter) {
    limiters.put(port, limiter);
    // Vert.x copies the options before it passes them to us, and every copy contains the host. The
    // host has no other use if the address is given to listen().
    return options.setHost(port);
  }

  @Override
  public void configure(NetServerOptions options, boolean domainSocket, ServerBootstrap bootstrap) {
    super.configure(options, domainSocket, bootstrap);
    ConnectionLimiter limiter = domainSocket ? null : limiters.get(options.getHost());
    if (limiter != null) {
      bootstrap.handler(new Acceptor(limiter));
    }
  }

  /**
   * Runs before Netty's own acceptor, which gives a connection to the event loop that serves it.
   */
  private static final class Acceptor extends ChannelInboundHandlerAdapter {
    private final ConnectionLimiter limiter;

    Acceptor(ConnectionLimiter limiter) {
      this.limiter = limiter;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object accepted) {
      var child = (Channel) accepted;
      if (limiter.accept(child)) {
        context.fireChannelRead(child);
        child.closeFuture().addListener(end -> context.executor().execute(() -> pace(context)));
        pace(context);
      } else {
        child.unsafe().closeForcibly();
      }
    }

    private void pace(ChannelHandlerContext context) {
      context.channel().config().setAutoRead(limiter.accepts());
    }
  }
}
