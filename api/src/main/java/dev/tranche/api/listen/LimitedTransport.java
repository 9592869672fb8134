package dev.tranche.api.listen;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.concurrent.EventExecutor;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.impl.transports.NioTransport;
import io.vertx.core.impl.transports.TransportInternal;
import io.vertx.core.net.NetServerOptions;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Limits connections as they are accepted. A server's own handlers see a connection only after its
 * TLS handshake and, with HTTP/2, its preface. A client that sends neither would never be counted.
 */
public final class LimitedTransport extends NioTransport {
  private static final long SWEEP_MS = 500;

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
  public HttpServerOptions limit(
      HttpServerOptions options, String port, ConnectionLimiter limiter) {
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
    private boolean sweeping;

    Acceptor(ConnectionLimiter limiter) {
      this.limiter = limiter;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object accepted) {
      var child = (Channel) accepted;
      Runnable closed =
          child.remoteAddress() instanceof InetSocketAddress remote
              ? limiter.accept(remote, new Accepted(child), ConnectionLimiter.nowMs())
              : null;
      if (closed == null) {
        child.unsafe().closeForcibly();
        return;
      }
      child.closeFuture().addListener(over -> closed.run());
      context.fireChannelRead(child);
      if (!sweeping) {
        sweepLater(context.executor());
      }
    }

    /**
     * Schedules a sweep on the accepting thread, so that a connection to close already has its
     * event loop.
     */
    private void sweepLater(EventExecutor executor) {
      sweeping = true;
      var _ = executor.schedule(() -> sweep(executor), SWEEP_MS, TimeUnit.MILLISECONDS);
    }

    private void sweep(EventExecutor executor) {
      sweeping = false;
      limiter.sweep(ConnectionLimiter.nowMs());
      if (limiter.open() > 0) {
        sweepLater(executor);
      }
    }
  }

  private record Accepted(Channel channel) implements ConnectionLimiter.Connection {
    @Override
    public void close() {
      var _ = channel.close();
    }

    @Override
    public void abort() {
      channel.eventLoop().execute(() -> channel.unsafe().close(channel.voidPromise()));
    }
  }
}
