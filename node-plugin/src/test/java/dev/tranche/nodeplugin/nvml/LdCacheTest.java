package dev.tranche.nodeplugin.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.fuzz.Seeds;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LdCacheTest {
  @Test
  void damagedCache_isNoException() {
    byte[] magic = "glibc-ld.so.cache1.1".getBytes(StandardCharsets.US_ASCII);
    for (long seed : Seeds.of(200)) {
      var random = new Random(seed);
      byte[] bytes = new byte[random.nextInt(400)];
      random.nextBytes(bytes);
      System.arraycopy(magic, 0, bytes, 0, Math.min(magic.length, bytes.length));
      assertThat(LdCache.paths(bytes, List.of("", "libcuda.so.1"), bytes.length << 8))
          .as("seed %d", seed)
          .isNotNull();
    }
  }
}
