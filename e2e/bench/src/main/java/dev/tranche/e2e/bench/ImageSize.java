package dev.tranche.e2e.bench;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;

/** Measures how much of our image a node pulls: its layers, each with gzip as in a registry. */
final class ImageSize {
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

  /** The size of layers, as a node unpacks them and as it pulls them. */
  record Bytes(long plain, long compressed) {
    private Bytes plus(Bytes other) {
      return new Bytes(plain + other.plain, compressed + other.compressed);
    }
  }

  /** Returns the size of all layers together; reads the tar to its end. */
  static Bytes read(InputStream in) throws IOException {
    Bytes all = new Bytes(0, 0);
    var tar = new TarArchiveInputStream(in);
    for (var entry = tar.getNextEntry(); entry != null; entry = tar.getNextEntry()) {
      if (layer(entry)) {
        all = all.plus(layer(tar, entry.getSize()));
      }
    }
    return all;
  }

  // Older engines name a layer ID/layer.tar. Newer ones keep layers and JSON files below blobs; the
  // JSON files are small, so their size tells them from layers.
  private static boolean layer(TarArchiveEntry entry) {
    return entry.getName().endsWith("/layer.tar")
        || (entry.getName().startsWith("blobs/") && entry.getSize() > 1 << 16);
  }

  // An engine with containerd's image store saves its layers as it would push them: with gzip.
  private static Bytes layer(InputStream entry, long size) throws IOException {
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
