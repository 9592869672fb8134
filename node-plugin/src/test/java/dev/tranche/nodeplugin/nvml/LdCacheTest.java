package dev.tranche.nodeplugin.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LdCacheTest {
  @Test
  void damagedCache_isNoException() {
    Random random = new Random(7);
    byte[] magic = "glibc-ld.so.cache1.1".getBytes(StandardCharsets.US_ASCII);
    for (int round = 0; round < 2_000; round++) {
      byte[] bytes = new byte[random.nextInt(400)];
      random.nextBytes(bytes);
      System.arraycopy(magic, 0, bytes, 0, Math.min(magic.length, bytes.length));
      assertThat(LdCache.paths(bytes, List.of("", "libcuda.so.1"), bytes.length << 8)).isNotNull();
    }
  }
}
