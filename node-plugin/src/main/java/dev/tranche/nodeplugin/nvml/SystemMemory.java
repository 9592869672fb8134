package dev.tranche.nodeplugin.nvml;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The machine's memory, from the kernel: that of GPUs that have none of their own. */
final class SystemMemory {
  private static final Pattern TOTAL = Pattern.compile("(?m)^MemTotal: +(\\d+) kB$");
  private static final int KIB_SHIFT = 10;

  private final Path meminfo;

  /**
   * @param meminfo of the kernel; a container sees the whole machine's
   */
  SystemMemory(Path meminfo) {
    this.meminfo = meminfo;
  }

  /**
   * All of it. How much the GPU uses stays unknown: the kernel counts programs without the GPU,
   * too, and a GPU with some of their memory in use would have no room for a whole share.
   */
  GpuMemory read() {
    try {
      Matcher line = TOTAL.matcher(Files.readString(meminfo));
      return line.find()
          ? new GpuMemory(Long.parseLong(line.group(1)) << KIB_SHIFT, 0, GpuReading.UNKNOWN)
          : GpuMemory.UNKNOWN;
    } catch (IOException unreadable) {
      return GpuMemory.UNKNOWN;
    }
  }
}
