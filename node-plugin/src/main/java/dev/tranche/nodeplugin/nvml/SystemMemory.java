package dev.tranche.nodeplugin.nvml;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The machine's memory, from the kernel: that of GPUs that have none of their own. */
final class SystemMemory {
  private static final Pattern LINE = Pattern.compile("(?m)^(\\w+): +(\\d+) kB$");
  private static final int KIB_SHIFT = 10;

  private final Path meminfo;

  /**
   * @param meminfo of the kernel; a container sees the whole machine's
   */
  SystemMemory(Path meminfo) {
    this.meminfo = meminfo;
  }

  /** In use is what the kernel could not give to a new program. Unknown if it does not say. */
  GpuMemory read() {
    try {
      String text = Files.readString(meminfo);
      OptionalLong total = bytes(text, "MemTotal");
      OptionalLong available = bytes(text, "MemAvailable");
      return total.isPresent() && available.isPresent()
          ? new GpuMemory(total.getAsLong(), 0, total.getAsLong() - available.getAsLong())
          : GpuMemory.UNKNOWN;
    } catch (IOException unreadable) {
      return GpuMemory.UNKNOWN;
    }
  }

  private static OptionalLong bytes(String text, String name) {
    Matcher line = LINE.matcher(text);
    while (line.find()) {
      if (line.group(1).equals(name)) {
        return OptionalLong.of(Long.parseLong(line.group(2)) << KIB_SHIFT);
      }
    }
    return OptionalLong.empty();
  }
}
