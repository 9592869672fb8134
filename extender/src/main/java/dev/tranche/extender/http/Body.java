package dev.tranche.extender.http;

import java.nio.charset.StandardCharsets;

/** A request's body: the first of these bytes, which serve again for another once they are read. */
public final class Body {
  final byte[] bytes;
  final int lengthBytes;

  Body(byte[] bytes, int lengthBytes) {
    this.bytes = bytes;
    this.lengthBytes = lengthBytes;
  }

  public static Body of(byte[] bytes) {
    return new Body(bytes, bytes.length);
  }

  public static Body of(String text) {
    return of(text.getBytes(StandardCharsets.UTF_8));
  }
}
