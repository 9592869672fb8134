package dev.tranche.e2e.bench.attack;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.ByteArrayOutputStream;
import java.util.Map;

/** Frames of HTTP/2, written as no honest client does. */
final class Http2Frames {
  private static final byte DATA = 0;
  private static final byte HEADERS = 1;
  private static final byte SETTINGS = 4;
  private static final byte END_HEADERS = 4;
  private static final int FRAME_BYTES_MAX = 16_384;

  /** {@code :method POST} and {@code :scheme https} of HPACK's static table. */
  private static final byte[] POST_HTTPS = {(byte) 0x83, (byte) 0x87};

  private static final int NAME_AUTHORITY = 1;
  private static final int NAME_PATH = 4;
  private static final int SEVEN_BITS = 127;

  private Http2Frames() {}

  /** The beginning of a connection: the preface, and empty settings. */
  static byte[] begin() {
    var out = new ByteArrayOutputStream();
    out.writeBytes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(US_ASCII));
    out.writeBytes(frame(SETTINGS, 0, 0, new byte[0]));
    return out.toByteArray();
  }

  /** The head of a request whose body does not follow. */
  static byte[] head(int stream, String path, Map<String, String> headers) {
    var block = new ByteArrayOutputStream();
    block.writeBytes(POST_HTTPS);
    block.write(NAME_PATH);
    text(block, path);
    block.write(NAME_AUTHORITY);
    text(block, "x");
    headers.forEach(
        (name, value) -> {
          block.write(0);
          text(block, name);
          text(block, value);
        });
    return frame(HEADERS, END_HEADERS, stream, block.toByteArray());
  }

  /** A part of a body that goes on. */
  static byte[] data(int stream, byte[] bytes) {
    var out = new ByteArrayOutputStream();
    for (int from = 0; from < bytes.length; from += FRAME_BYTES_MAX) {
      int length = Math.min(FRAME_BYTES_MAX, bytes.length - from);
      byte[] part = new byte[length];
      System.arraycopy(bytes, from, part, 0, length);
      out.writeBytes(frame(DATA, 0, stream, part));
    }
    return out.toByteArray();
  }

  private static byte[] frame(int type, int flags, int stream, byte[] payload) {
    var out = new ByteArrayOutputStream();
    out.write(payload.length >> 16);
    out.write(payload.length >> 8);
    out.write(payload.length);
    out.write(type);
    out.write(flags);
    out.write(stream >> 24);
    out.write(stream >> 16);
    out.write(stream >> 8);
    out.write(stream);
    out.writeBytes(payload);
    return out.toByteArray();
  }

  /** Without Huffman coding. Its length is a number with a prefix of seven bits. */
  private static void text(ByteArrayOutputStream out, String text) {
    int length = text.length();
    if (length < SEVEN_BITS) {
      out.write(length);
    } else {
      out.write(SEVEN_BITS);
      int rest = length - SEVEN_BITS;
      while (rest > SEVEN_BITS) {
        out.write((rest & SEVEN_BITS) | 128);
        rest >>= 7;
      }
      out.write(rest);
    }
    out.writeBytes(text.getBytes(US_ASCII));
  }
}
