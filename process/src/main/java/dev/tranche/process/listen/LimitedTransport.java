package dev.tranche.process.listen;

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

  /** While connections wait, so that one that becomes idle makes room soon. */
  private static final long WAITING_SWEEP_MS = 50;

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
    private boolean sweeping;

    Acceptor(ConnectionLimiter limiter) {
      this.limiter = limiter;
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object accepted) {
      var child = (Channel) accepted;
      if (child.remoteAddress() instanceof InetSocketAddress remote) {
        limiter.accept(remote, new Accepted(child, context), ConnectionLimiter.nowMs());
      } else {
        // Its peer has left.
        child.unsafe().closeForcibly();
      }
      if (!sweeping) {
        sweepLater(context.executor());
      }
    }

    /** The port is closed; nobody would serve those that wait. */
    @Override
    public void channelInactive(ChannelHandlerContext context) {
      limiter.abortWaiting();
      context.fireChannelInactive();
    }

    /**
     * Schedules a sweep on the accepting thread, so that a connection to close already has its
     * event loop.
     */
    private void sweepLater(EventExecutor executor) {
      sweeping = true;
      long inMs = limiter.waiting() > 0 ? WAITING_SWEEP_MS : SWEEP_MS;
      var _ = executor.schedule(() -> sweep(executor), inMs, TimeUnit.MILLISECONDS);
    }

    private void sweep(EventExecutor executor) {
      sweeping = false;
      limiter.sweep(ConnectionLimiter.nowMs());
      if (limiter.open() + limiter.waiting() > 0) {
        sweepLater(executor);
      }
    }
  }

  private static final class Accepted implements ConnectionLimiter.Connection {
    /** A served connection has no event loop for a moment. */
    private static final long REGISTERED_MS = 10;

    private final Channel channel;
    private final ChannelHandlerContext accepting;

    /** Whether it was passed on. Confined to the accepting thread. */
    private boolean served;

    private final QuietClock clock = new QuietClock();

    /**
     * @param accepting the context of the accepting thread
     */
    Accepted(Channel channel, ChannelHandlerContext accepting) {
      this.channel = channel;
      this.accepting = accepting;
    }

    @Override
    public void serve(long safeMs, Runnable onClosed) {
      clock.tickMs = Math.max(1, safeMs / QuietClock.TICKS);
      channel.pipeline().addLast(clock);
      channel.closeFuture().addListener(over -> onClosed.run());
      if (accepting.executor().inEventLoop()) {
        passOn();
      } else {
        accepting.executor().execute(this::passOn);
      }
    }

    private void passOn() {
      served = true;
      accepting.fireChannelRead(channel);
    }

    @Override
    public long quietMs() {
      return clock.quietMs;
    }

    @Override
    public void used() {
      clock.stopped = true;
    }

    @Override
    public void close() {
      Runnable closing =
          () -> {
            var _ = channel.close();
          };
      accepting.executor().execute(() -> end(closing));
    }

    @Override
    public void abort() {
      accepting.executor().execute(() -> end(() -> channel.unsafe().close(channel.voidPromise())));
    }

    private void end(Runnable closing) {
      if (channel.isRegistered()) {
        channel.eventLoop().execute(closing);
      } else if (served && channel.isOpen()) {
        var _ =
            accepting.executor().schedule(() -> end(closing), REGISTERED_MS, TimeUnit.MILLISECONDS);
      } else {
        channel.unsafe().closeForcibly();
      }
    }
  }
}
