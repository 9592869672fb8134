package dev.tranche.process.listen;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Holds one connection to one request at a time, whose body is not packed. The length of a body is
 * announced, except where a port takes chunked ones: such a request is the last of its connection.
 * Tells the limiter what the connection does. Confined to the connection's event loop.
 */
final class Http1Guard extends ChannelDuplexHandler {
  /** How long the rest of a body may take once its request is answered. */
  private static final long REST_MS_MAX = 1_000;

  private static final String DECODER = "httpDecoder";

  private final ConnectionLimiter connections;
  private final InetSocketAddress remote;
  private final boolean takesChunked;
  private @Nullable ChannelHandlerContext context;
  private long bodyBytes;
  private long requests;
  private boolean receiving;
  private boolean unanswered;
  private boolean chunked;
  private boolean closing;

  /**
   * @param takesChunked whether the length of a body may be unknown before its end
   */
  Http1Guard(ConnectionLimiter connections, InetSocketAddress remote, boolean takesChunked) {
    this.connections = connections;
    this.remote = remote;
    this.takesChunked = takesChunked;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext added) {
    context = added;
  }

  /** Returns the announced size of the latest request's body. */
  long bodyBytes() {
    return bodyBytes;
  }

  /** Forgets the announced size, which must not be taken for that of the next request. */
  void bodyEnded() {
    bodyBytes = 0;
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    if (closing) {
      if (chunked && message instanceof LastHttpContent) {
        var _ = context.close();
      }
      ReferenceCountUtil.release(message);
      return;
    }
    if (message instanceof HttpRequest head && !begin(context, head)) {
      ReferenceCountUtil.release(message);
      return;
    }
    if (message instanceof LastHttpContent) {
      receiving = false;
      if (unanswered) {
        connections.recordReceived(remote);
      }
    }
    context.fireChannelRead(message);
  }

  /** Returns whether the request may go on. */
  private boolean begin(ChannelHandlerContext context, HttpRequest head) {
    if (receiving || unanswered || !context.channel().isWritable()) {
      refusePipelined();
      return false;
    }
    connections.recordActivity(
        remote.getAddress().getHostAddress(), remote.getPort(), ConnectionLimiter.nowMs());
    if (head.decoderResult().isFailure()) {
      // Vert.x answers it and closes the connection. Nothing is read of what follows.
      bodyBytes = Long.MAX_VALUE;
      unanswered = true;
      return true;
    }
    if (head.protocolVersion().majorVersion() != 1) {
      refuse(HttpResponseStatus.HTTP_VERSION_NOT_SUPPORTED, "this port speaks HTTP/1.1");
      return false;
    }
    chunked = HttpUtil.isTransferEncodingChunked(head);
    if (chunked && !takesChunked) {
      refuse(HttpResponseStatus.LENGTH_REQUIRED, "send a body with Content-Length, not chunked");
      return false;
    }
    String coding = head.headers().get(HttpHeaderNames.CONTENT_ENCODING, "identity");
    if (!coding.equalsIgnoreCase("identity")) {
      refuse(
          HttpResponseStatus.UNSUPPORTED_MEDIA_TYPE,
          "send the body as it is, without Content-Encoding");
      return false;
    }
    // Nothing is read of what follows a chunked body, so it need not be told apart.
    bodyBytes = chunked ? Long.MAX_VALUE : HttpUtil.getContentLength(head, 0L);
    requests++;
    receiving = true;
    unanswered = true;
    return true;
  }

  @Override
  public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
    if (chunked && message instanceof HttpResponse response && !isInterim(message)) {
      response.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
    }
    boolean answers = message instanceof LastHttpContent && !isInterim(message) && unanswered;
    if (answers) {
      unanswered = false;
      connections.recordAnswered(remote, ConnectionLimiter.nowMs());
      if (receiving && bodyBytes > 0) {
        closeUnlessReceived(context);
      }
    }
    ChannelPromise sent = promise.unvoid();
    var _ = context.write(message, sent);
    if (answers && chunked) {
      closing = true;
      if (!receiving) {
        sent.addListener(ChannelFutureListener.CLOSE);
      }
    }
  }

  private static boolean isInterim(Object message) {
    return message instanceof HttpResponse response
        && response.status().codeClass() == HttpStatusClass.INFORMATIONAL;
  }

  /** The head of an answered request is kept until its body has ended, so that must be soon. */
  private void closeUnlessReceived(ChannelHandlerContext context) {
    long answered = requests;
    var _ =
        context
            .executor()
            .schedule(
                () -> {
                  if (receiving && requests == answered) {
                    var _ = context.close();
                  }
                },
                REST_MS_MAX,
                TimeUnit.MILLISECONDS);
  }

  void refusePipelined() {
    refuse(
        HttpResponseStatus.BAD_REQUEST, "send a request once you have the answer to the last one");
  }

  /** Answers and closes the connection; what arrives until then is dropped. */
  void refuse(HttpResponseStatus status, String why) {
    ChannelHandlerContext to = context;
    if (closing || to == null) {
      return;
    }
    closing = true;
    connections.countRefused();
    if (unanswered || !to.channel().isWritable()) {
      // An answer is on its way, and this one must not be taken for it.
      var _ = to.close();
      return;
    }
    String text = why + "\n";
    String answer =
        "HTTP/1.1 %s\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s"
            .formatted(status, text.length(), text);
    // Before the encoder, which knows of no request.
    to.pipeline()
        .context(DECODER)
        .writeAndFlush(Unpooled.copiedBuffer(answer, US_ASCII))
        .addListener(ChannelFutureListener.CLOSE);
  }
}
