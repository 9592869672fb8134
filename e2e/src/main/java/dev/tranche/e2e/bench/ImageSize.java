package dev.tranche.e2e.bench;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;

/** What a node pulls of our image: its layers, each with gzip as a registry keeps them. */
final class ImageSize {
  private static final int BLOCK_BYTES = 512;
  private static final int NAME_BYTES = 100;
  private static final int SIZE_OFFSET = 124;
  private static final int SIZE_DIGITS = 11;
  private static final double MB = 1e6;
  private static final byte[] GZIP = {0x1f, (byte) 0x8b};

  private ImageSize() {}

  /**
   * @param tar as {@code docker save} writes it
   */
  static List<Figure> of(Path tar) throws IOException {
    try (var in = new BufferedInputStream(Files.newInputStream(tar))) {
      Bytes all = read(in);
      return List.of(
          new Figure("plugin.image_mb", all.plain() / MB, "MB"),
          new Figure("plugin.image_compressed_mb", all.compressed() / MB, "MB"));
    }
  }

  /** Of layers, as a node unpacks them and as it pulls them. */
  record Bytes(long plain, long compressed) {
    private Bytes plus(Bytes other) {
      return new Bytes(plain + other.plain, compressed + other.compressed);
    }
  }

  /** All layers' together; the tar is read to its end. */
  static Bytes read(InputStream in) throws IOException {
    Bytes all = new Bytes(0, 0);
    byte[] header = in.readNBytes(BLOCK_BYTES);
    while (header.length == BLOCK_BYTES && header[0] != 0) {
      long size = size(header);
      var entry = new Entry(in, size);
      if (layer(header)) {
        all = all.plus(layer(entry, size));
      }
      entry.skipToEnd();
      in.skipNBytes((BLOCK_BYTES - size % BLOCK_BYTES) % BLOCK_BYTES);
      header = in.readNBytes(BLOCK_BYTES);
    }
    return all;
  }

  private static long size(byte[] header) {
    String octal = new String(header, SIZE_OFFSET, SIZE_DIGITS, StandardCharsets.US_ASCII);
    return Long.parseLong(octal.strip(), 8);
  }

  // Older engines name them ID/layer.tar; newer ones keep everything below blobs, the layers being
  // what is not JSON: those are small.
  private static boolean layer(byte[] header) {
    String name = new String(header, 0, NAME_BYTES, StandardCharsets.US_ASCII).replace("\0", "");
    return name.endsWith("/layer.tar") || (name.startsWith("blobs/") && size(header) > 1 << 16);
  }

  // An engine with containerd's image store saves its layers as it would push them: with gzip.
  private static Bytes layer(Entry entry, long size) throws IOException {
    var bytes = new BufferedInputStream(entry);
    bytes.mark(GZIP.length);
    boolean gzipped = Arrays.equals(bytes.readNBytes(GZIP.length), GZIP);
    bytes.reset();
    var counting = new Counting();
    if (gzipped) {
      new GZIPInputStream(bytes).transferTo(counting);
      return new Bytes(counting.bytes, size);
    }
    try (var gzip = new GZIPOutputStream(counting, 1 << 16)) {
      bytes.transferTo(gzip);
    }
    return new Bytes(size, counting.bytes);
  }

  /** One entry's bytes; the tar goes on after them. */
  private static final class Entry extends InputStream {
    private final InputStream tar;
    private long left;

    Entry(InputStream tar, long size) {
      this.tar = tar;
      this.left = size;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] into, int from, int length) throws IOException {
      if (left == 0) {
        return -1;
      }
      int read = tar.read(into, from, (int) Math.min(left, length));
      if (read < 0) {
        throw new EOFException("the image's file ends within an entry");
      }
      left -= read;
      return read;
    }

    void skipToEnd() throws IOException {
      tar.skipNBytes(left);
      left = 0;
    }
  }

  private static final class Counting extends OutputStream {
    private long bytes;

    @Override
    public void write(int b) {
      bytes++;
    }

    @Override
    public void write(byte[] b, int from, int length) {
      bytes += length;
    }
  }
}
