package dev.tranche.e2e.bench;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.GZIPOutputStream;

/** What a node pulls of our image: its layers, each with gzip as a registry keeps them. */
final class ImageSize {
  private static final int BLOCK_BYTES = 512;
  private static final int NAME_BYTES = 100;
  private static final int SIZE_OFFSET = 124;
  private static final int SIZE_DIGITS = 11;
  private static final double MB = 1e6;

  private ImageSize() {}

  /**
   * @param tar as {@code docker save} writes it
   */
  static List<Figure> of(Path tar) throws IOException {
    long layers = 0;
    long compressed = 0;
    try (var in = new BufferedInputStream(Files.newInputStream(tar))) {
      byte[] header = in.readNBytes(BLOCK_BYTES);
      while (header.length == BLOCK_BYTES && header[0] != 0) {
        long size = size(header);
        if (layer(header)) {
          layers += size;
          compressed += gzipped(in, size);
        } else {
          in.skipNBytes(size);
        }
        in.skipNBytes((BLOCK_BYTES - size % BLOCK_BYTES) % BLOCK_BYTES);
        header = in.readNBytes(BLOCK_BYTES);
      }
    }
    return List.of(
        new Figure("plugin.image_mb", layers / MB, "MB"),
        new Figure("plugin.image_compressed_mb", compressed / MB, "MB"));
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

  private static long gzipped(InputStream in, long size) throws IOException {
    var counting = new Counting();
    try (var gzip = new GZIPOutputStream(counting, 1 << 16)) {
      byte[] buffer = new byte[1 << 16];
      for (long left = size; left > 0; ) {
        int read = in.readNBytes(buffer, 0, (int) Math.min(left, buffer.length));
        if (read == 0) {
          throw new IOException("the image's file ends within a layer");
        }
        gzip.write(buffer, 0, read);
        left -= read;
      }
    }
    return counting.bytes;
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
