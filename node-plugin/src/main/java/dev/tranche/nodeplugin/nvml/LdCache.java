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

  private static final String MAGIC = "glibc-ld.so.cache1.1";
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
    // Each byte is a character, so that offsets stay.
    String text = new String(bytes, StandardCharsets.ISO_8859_1);
    int start = text.indexOf(MAGIC);
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
          && names.contains(string(text, start, cache.getInt(entry + KEY_OFFSET)))) {
        found.add(string(text, start, cache.getInt(entry + VALUE_OFFSET)));
      }
    }
    return found;
  }

  // Strings end with a zero; their offsets count from the header.
  private static String string(String text, int start, int offset) {
    boolean within = offset >= 0 && offset < text.length() - start;
    int end = within ? text.indexOf('\0', start + offset) : -1;
    return end < 0 ? "" : text.substring(start + offset, end);
  }
}
