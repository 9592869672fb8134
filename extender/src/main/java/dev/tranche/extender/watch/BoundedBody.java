package dev.tranche.extender.watch;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/**
 * The unpacked body of a list. It ends with an error after a number of bytes, since a few hundred
 * KiB unpack to as much as one likes.
 */
final class BoundedBody extends FilterInputStream {
  private final long bytesMax;
  private long left;

  BoundedBody(InputStream body, long bytesMax) {
    super(body);
    this.bytesMax = bytesMax;
    this.left = bytesMax;
  }

  /** The page is too large; one of fewer objects may not be. */
  static final class TooLarge extends IOException {
    private static final long serialVersionUID = 1;

    TooLarge(long bytesMax) {
      super("a page of the list has more than %d bytes".formatted(bytesMax));
    }
  }

  /** Returns whether there was more to read than is allowed, whoever has caught the error. */
  boolean exceeded() {
    return left < 0;
  }

  @Override
  public int read() throws IOException {
    int read = super.read();
    count(read < 0 ? 0 : 1);
    return read;
  }

  @Override
  public int read(byte[] into, int from, int length) throws IOException {
    int read = super.read(into, from, length);
    count(read);
    return read;
  }

  @Override
  public long skip(long count) throws IOException {
    long skipped = super.skip(count);
    count(skipped);
    return skipped;
  }

  private void count(long read) throws TooLarge {
    left -= Math.max(0, read);
    if (left < 0) {
      throw new TooLarge(bytesMax);
    }
  }
}
