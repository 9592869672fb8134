package dev.tranche.nodeplugin.nvml;

import dev.tranche.nodeplugin.file.FileAccess;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The memory of a GPU.
 *
 * @param totalBytes 0: unknown
 * @param reservedBytes kept by the driver; 0 where an old driver does not say
 * @param usedBytes the driver's reserve not included; {@link GpuReading#UNKNOWN} where NVML does
 *     not say
 */
record GpuMemory(long totalBytes, long reservedBytes, long usedBytes) {
  static final GpuMemory UNKNOWN = new GpuMemory(0, 0, GpuReading.UNKNOWN);

  private static final Pattern TOTAL = Pattern.compile("(?m)^MemTotal: +(\\d+) kB$");
  private static final int KIB_SHIFT = 10;

  /**
   * Returns the machine's memory, for GPUs that have none of their own. How much the GPU uses stays
   * unknown, since the kernel also counts processes that do not use the GPU. Counted as use, their
   * memory would leave no GPU free enough for a whole share.
   *
   * @param meminfo the kernel's file, which shows the whole machine even in a container
   */
  static GpuMemory ofSystem(Path meminfo) {
    Matcher line = TOTAL.matcher(FileAccess.text(meminfo));
    return line.find()
        ? new GpuMemory(Long.parseLong(line.group(1)) << KIB_SHIFT, 0, GpuReading.UNKNOWN)
        : UNKNOWN;
  }
}
