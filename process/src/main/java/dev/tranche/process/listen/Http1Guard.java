package dev.tranche.process.listen;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import java.util.function.BooleanSupplier;

/**
 * Holds one connection to one request at a time, since Vert.x keeps all that arrive at once. Tells
 * the limiter whether the connection is being answered. Confined to the connection's event loop.
 */
final class Http1Guard extends ChannelDuplexHandler {
  private final ConnectionLimiter connections;
  private final BooleanSupplier draining;
  private boolean unanswered;
  private boolean closing;

  /**
   * @param draining whether clients should use another process by now, so that each connection ends
   *     with its next answer
   */
  Http1Guard(ConnectionLimiter connections, BooleanSupplier draining) {
    this.connections = connections;
    this.draining = draining;
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    // A peer that takes no answers gets no further ones, which would be kept.
    if (message instanceof HttpRequest && (unanswered || !context.channel().isWritable())) {
      closing = true;
      var _ = context.close();
    }
    if (closing) {
      ReferenceCountUtil.release(message);
      return;
    }
    if (message instanceof HttpRequest) {
      unanswered = true;
    }
    if (message instanceof LastHttpContent && unanswered) {
      connections.answering(context.channel(), true);
    }
    context.fireChannelRead(message);
  }

  @Override
  public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
    if (isInterim(message)) {
      var _ = context.write(message, promise);
      return;
    }
    if (message instanceof HttpResponse response && draining.getAsBoolean()) {
      closing = true;
      response.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
    }
    ChannelPromise sent = promise.unvoid();
    if (message instanceof LastHttpContent) {
      unanswered = false;
      connections.answering(context.channel(), false);
      if (closing) {
        sent.addListener(ChannelFutureListener.CLOSE);
      }
    }
    var _ = context.write(message, sent);
  }

  private static boolean isInterim(Object message) {
    return message instanceof HttpResponse response
        && response.status().codeClass() == HttpStatusClass.INFORMATIONAL;
  }
}
