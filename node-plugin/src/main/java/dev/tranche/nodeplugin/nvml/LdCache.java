package dev.tranche.nodeplugin.nvml;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads the cache of the dynamic linker, which knows libraries in folders that no list has. Of its
 * two formats only the newer is read; old ones carry it behind the older.
 */
final class LdCache {
  /** A cache that is larger is not read; a full desktop's has 300 KiB. */
  static final int BYTES_MAX = 16 << 20;

  private static final byte[] MAGIC = "glibc-ld.so.cache1.1".getBytes(StandardCharsets.US_ASCII);
  private static final int HEADER_BYTES = 48;
  private static final int COUNT_OFFSET = 20;
  private static final int ENTRY_BYTES = 24;
  private static final int KEY_OFFSET = 4;
  private static final int VALUE_OFFSET = 8;
  private static final int ARCHITECTURE_MASK = 0xff00;
  private static final int X86_64 = 0x0300;
  private static final int AARCH64 = 0x0a00;

  private LdCache() {}

  /** Returns the paths of libraries of this architecture; empty if the cache cannot be read. */
  static List<String> paths(Path file, List<String> names) {
    try {
      return Files.isRegularFile(file) && Files.size(file) <= BYTES_MAX
          ? paths(Files.readAllBytes(file), names, architecture())
          : List.of();
    } catch (IOException unreadable) {
      return List.of();
    }
  }

  private static int architecture() {
    return System.getProperty("os.arch", "").equals("aarch64") ? AARCH64 : X86_64;
  }

  static List<String> paths(byte[] bytes, List<String> names, int architecture) {
    int start = start(bytes);
    List<String> found = new ArrayList<>();
    if (start < 0 || bytes.length - start < HEADER_BYTES) {
      return found;
    }
    ByteBuffer cache =
        ByteBuffer.wrap(bytes, start, bytes.length - start).slice().order(ByteOrder.LITTLE_ENDIAN);
    int room = (cache.limit() - HEADER_BYTES) / ENTRY_BYTES;
    int count = Math.clamp(cache.getInt(COUNT_OFFSET), 0, room);
    for (int i = 0; i < count; i++) {
      int entry = HEADER_BYTES + i * ENTRY_BYTES;
      if ((cache.getInt(entry) & ARCHITECTURE_MASK) == architecture
          && names.contains(text(cache, cache.getInt(entry + KEY_OFFSET)))) {
        found.add(text(cache, cache.getInt(entry + VALUE_OFFSET)));
      }
    }
    return found;
  }

  private static int start(byte[] bytes) {
    for (int at = 0; at + MAGIC.length <= bytes.length; at++) {
      if (bytes[at] == MAGIC[0] && matches(bytes, at)) {
        return at;
      }
    }
    return -1;
  }

  private static boolean matches(byte[] bytes, int at) {
    for (int i = 0; i < MAGIC.length; i++) {
      if (bytes[at + i] != MAGIC[i]) {
        return false;
      }
    }
    return true;
  }

  // Strings end with a zero; their offsets count from the header.
  private static String text(ByteBuffer cache, int offset) {
    if (offset < 0 || offset >= cache.limit()) {
      return "";
    }
    int end = offset;
    while (end < cache.limit() && cache.get(end) != 0) {
      end++;
    }
    byte[] bytes = new byte[end - offset];
    cache.get(offset, bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
