package dev.tranche.process.listen;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.concurrent.TimeUnit;

/**
 * Measures for how long a peer has sent nothing, by ticks of its connection's event loop. The loop
 * reads before it ticks, and it ticks once however late it is. So a burst of handshakes that keeps
 * it busy does not make the waiting peers look silent.
 */
final class QuietClock extends ChannelInboundHandlerAdapter {
  /** In the time after which a connection may end for others. */
  static final int TICKS = 10;

  /** Set before the handler is added. */
  long tickMs = 1;

  volatile long quietMs;
  volatile boolean stopped;
  private boolean read;

  @Override
  public void channelActive(ChannelHandlerContext context) {
    tickLater(context);
    context.fireChannelActive();
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext context) {
    read = true;
    context.fireChannelReadComplete();
  }

  private void tickLater(ChannelHandlerContext context) {
    var _ = context.executor().schedule(() -> tick(context), tickMs, TimeUnit.MILLISECONDS);
  }

  private void tick(ChannelHandlerContext context) {
    if (stopped || !context.channel().isOpen()) {
      return;
    }
    quietMs = read ? 0 : quietMs + tickMs;
    read = false;
    tickLater(context);
  }
}
