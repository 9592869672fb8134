package dev.tranche.extender.http;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A request's body: the first {@code lengthBytes} of the bytes. The array is reused for another
 * request once the body has been read.
 */
public final class Body {
  final byte[] bytes;
  final int lengthBytes;

  Body(byte[] bytes, int lengthBytes) {
    this.bytes = bytes;
    this.lengthBytes = lengthBytes;
  }

  /** Returns the same body in an array of its own. */
  Body copy() {
    return of(Arrays.copyOf(bytes, lengthBytes));
  }

  public static Body of(byte[] bytes) {
    return new Body(bytes, bytes.length);
  }

  public static Body of(String text) {
    return of(text.getBytes(StandardCharsets.UTF_8));
  }
}
