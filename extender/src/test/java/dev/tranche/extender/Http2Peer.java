package dev.tranche.extender;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import javax.net.ssl.SSLSocket;

/** Frames of HTTP/2 that no client library would send: calls of the largest size without an end. */
final class Http2Peer {
  private static final byte[] PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(US_ASCII);
  static final int DATA = 0;
  static final int HEADERS = 1;
  static final int RESET = 3;
  static final int SETTINGS = 4;
  static final int PING = 6;
  private static final int CONTINUATION = 9;
  private static final int ACK = 1;
  private static final int END_HEADERS = 4;
  private static final int FRAME_BYTES_MAX = 16_384;
  static final int WINDOW_BYTES = 16_384;
  private static final int HEADER_LIST_SIZE = 6;
  static final String CONNECT = "/tranche.v1.NodeReports/Connect";

  private Http2Peer() {}

  /**
   * Begins HTTP/2.
   *
   * @return how large a head may be, as the server says
   */
  static int begin(SSLSocket node) throws IOException {
    node.getOutputStream().write(PREFACE);
    node.getOutputStream().write(frame(SETTINGS, 0, 0, new byte[0]));
    node.getOutputStream().write(frame(SETTINGS, ACK, 0, new byte[0]));
    node.getOutputStream().flush();
    ByteBuffer settings = ByteBuffer.wrap(awaitFrame(node, SETTINGS));
    while (settings.remaining() >= 6) {
      short name = settings.getShort();
      int value = settings.getInt();
      if (name == HEADER_LIST_SIZE) {
        return value;
      }
    }
    throw new AssertionError("the server bounds no head");
  }

  /** Returns the payload of the next frame of the type, other than an empty one of settings. */
  static byte[] awaitFrame(SSLSocket node, int type) throws IOException {
    var in = new DataInputStream(node.getInputStream());
    while (true) {
      int lengthAndType = in.readInt();
      in.readFully(new byte[5]);
      byte[] payload = in.readNBytes(lengthAndType >>> 8);
      if ((lengthAndType & 0xff) == type && (type != SETTINGS || payload.length > 0)) {
        return payload;
      }
    }
  }

  /** Sends a head as large as it may be, in HPACK with each header literally, without an end. */
  static void call(OutputStream to, int stream, String path, String authorization, int headBytes)
      throws IOException {
    var block = new ByteArrayOutputStream();
    // The server keeps no table of headers, which has to be confirmed.
    block.write(0x20);
    new TreeMap<>(Map.of(":method", "POST", ":scheme", "https", ":path", path, ":authority", "x"))
        .forEach((name, value) -> header(block, name, value));
    header(block, "content-type", "application/grpc");
    if (!authorization.isEmpty()) {
      header(block, "authorization", authorization);
    }
    // The size of each header counts 32 bytes more.
    header(block, "x", "y".repeat(headBytes - 600));
    byte[] bytes = block.toByteArray();
    for (int from = 0; from < bytes.length; from += FRAME_BYTES_MAX) {
      int end = Math.min(bytes.length, from + FRAME_BYTES_MAX);
      to.write(
          frame(
              from == 0 ? HEADERS : CONTINUATION,
              end == bytes.length ? END_HEADERS : 0,
              stream,
              Arrays.copyOfRange(bytes, from, end)));
    }
  }

  private static void header(ByteArrayOutputStream block, String name, String value) {
    block.write(0);
    text(block, name);
    text(block, value);
  }

  private static void text(ByteArrayOutputStream block, String text) {
    int length = text.length();
    if (length < 127) {
      block.write(length);
    } else {
      block.write(127);
      for (length -= 127; length >= 128; length >>= 7) {
        block.write((length & 127) | 128);
      }
      block.write(length);
    }
    block.writeBytes(text.getBytes(US_ASCII));
  }

  static byte[] frame(int type, int flags, int stream, byte[] payload) {
    var frame = new ByteArrayOutputStream();
    frame.writeBytes(
        new byte[] {
          (byte) (payload.length >> 16),
          (byte) (payload.length >> 8),
          (byte) payload.length,
          (byte) type,
          (byte) flags,
          0,
          0,
          (byte) (stream >> 8),
          (byte) stream
        });
    frame.writeBytes(payload);
    return frame.toByteArray();
  }
}
