package dev.tranche.e2e.bench;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;

/** The figures of an image, however its engine keeps the layers. */
class ImageSizeTest {
  private static final byte[] LAYER = layer();

  // Half of it compresses to nothing, and either half is longer than what passes for JSON.
  private static byte[] layer() {
    byte[] bytes = new byte[200_001];
    new Random(1).nextBytes(bytes);
    Arrays.fill(bytes, 100_000, bytes.length, (byte) 'x');
    return bytes;
  }

  private static byte[] gzip(byte[] bytes) throws IOException {
    var out = new ByteArrayOutputStream();
    try (var gzip = new GZIPOutputStream(out)) {
      gzip.write(bytes);
    }
    return out.toByteArray();
  }

  private static void entry(ByteArrayOutputStream tar, String name, byte[] bytes) {
    byte[] header = new byte[512];
    System.arraycopy(name.getBytes(US_ASCII), 0, header, 0, name.length());
    System.arraycopy("%011o".formatted(bytes.length).getBytes(US_ASCII), 0, header, 124, 11);
    tar.writeBytes(header);
    tar.writeBytes(bytes);
    tar.writeBytes(new byte[(512 - bytes.length % 512) % 512]);
  }

  private static byte[] image(byte[] layer) {
    var tar = new ByteArrayOutputStream();
    entry(tar, "blobs/sha256/aa", "{}".getBytes(US_ASCII));
    entry(tar, "blobs/sha256/bb", layer);
    entry(tar, "manifest.json", new byte[1_000]);
    entry(tar, "blobs/sha256/cc", layer);
    tar.writeBytes(new byte[1_024]);
    return tar.toByteArray();
  }

  @Test
  void plainLayers_areCountedAsTheyAre_andWithGzip() throws IOException {
    var read = ImageSize.read(new ByteArrayInputStream(image(LAYER)));
    assertThat(read.plain()).isEqualTo(2L * LAYER.length);
    assertThat(read.compressed()).isBetween(200_000L, 202_000L);
  }

  @Test
  void gzippedLayers_areCountedAsTheyAre_andInflated() throws IOException {
    byte[] gzipped = gzip(LAYER);
    var read = ImageSize.read(new ByteArrayInputStream(image(gzipped)));
    assertThat(read.plain()).isEqualTo(2L * LAYER.length);
    assertThat(read.compressed()).isEqualTo(2L * gzipped.length);
  }

  @Test
  void fileThatEndsEarly_isAnError() {
    byte[] image = image(LAYER);
    byte[] part = Arrays.copyOf(image, image.length / 2);
    assertThatThrownBy(() -> ImageSize.read(new ByteArrayInputStream(part)))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("Truncated");
  }
}
