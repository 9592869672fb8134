package dev.tranche.process.listen;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.HttpResponseStatus;

/**
 * Sees the bytes before Netty's decoder. The decoder bounds the size of a head, but a line of four
 * bytes costs a hundred in memory, so the lines are bounded here, those of an unfinished head too.
 * A second request before the end of the first is refused: Vert.x would keep all that arrive.
 */
final class Http1Framing extends ChannelInboundHandlerAdapter {
  /** The request line and the headers. */
  static final int HEAD_LINES_MAX = 64;

  private final Http1Guard guard;
  private boolean inHead = true;
  private boolean lineEmpty = true;
  private int lines;

  /** Bytes of the body that have not arrived. */
  private long bodyLeft;

  Http1Framing(Http1Guard guard) {
    this.guard = guard;
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    if (!(message instanceof ByteBuf bytes)) {
      context.fireChannelRead(message);
      return;
    }
    int afterHead = bytes.readableBytes();
    boolean wasInHead = inHead;
    if (inHead) {
      afterHead = afterHead(bytes);
      if (lines > HEAD_LINES_MAX) {
        bytes.release();
        guard.refuse(
            HttpResponseStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            "a request has " + HEAD_LINES_MAX + " lines before its body at most");
        return;
      }
    }
    // The bytes are released in there.
    context.fireChannelRead(bytes);
    if (inHead) {
      return;
    }
    bodyLeft = (wasInHead ? guard.bodyBytes() : bodyLeft) - afterHead;
    if (bodyLeft < 0) {
      guard.refusePipelined();
    } else if (bodyLeft == 0) {
      inHead = true;
      lines = 0;
      guard.bodyEnded();
    }
  }

  /** Counts lines up to the empty one that ends the head. Returns how many bytes follow it. */
  private int afterHead(ByteBuf bytes) {
    for (int at = bytes.readerIndex(); at < bytes.writerIndex(); at++) {
      byte octet = bytes.getByte(at);
      if (octet == '\n') {
        // An empty line before the request line is allowed, and skipped by the decoder.
        if (lineEmpty && lines > 0) {
          inHead = false;
          return bytes.writerIndex() - at - 1;
        }
        lines++;
        lineEmpty = true;
      } else if (octet != '\r') {
        lineEmpty = false;
      }
    }
    return 0;
  }
}
