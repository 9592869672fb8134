package dev.tranche.nodeplugin.nvml;

import dev.tranche.nodeplugin.file.FileAccess;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads the machine's memory from the kernel, for GPUs that have none of their own. */
final class SystemMemory {
  private static final Pattern TOTAL = Pattern.compile("(?m)^MemTotal: +(\\d+) kB$");
  private static final int KIB_SHIFT = 10;

  private SystemMemory() {}

  /**
   * Returns the total. How much the GPU uses stays unknown, since the kernel also counts processes
   * that do not use the GPU. Counted as use, their memory would leave no GPU free enough for a
   * whole share.
   *
   * @param meminfo the kernel's file, which shows the whole machine even in a container
   */
  static GpuMemory read(Path meminfo) {
    Matcher line = TOTAL.matcher(FileAccess.text(meminfo));
    return line.find()
        ? new GpuMemory(Long.parseLong(line.group(1)) << KIB_SHIFT, 0, GpuReading.UNKNOWN)
        : GpuMemory.UNKNOWN;
  }
}
