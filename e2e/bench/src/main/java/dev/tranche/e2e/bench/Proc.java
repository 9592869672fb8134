package dev.tranche.e2e.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * The kernel's figures of a process on this machine.
 *
 * @param folder {@code /proc/<pid>}
 */
record Proc(Path folder) {
  /** Clock ticks per second in the kernel's figures, on every architecture that we know. */
  private static final double TICKS_PER_SECOND = 100;

  // Indexes of fields in /proc/<pid>/stat, counted from 0 after the process name.
  private static final int USER_TICKS = 11;
  private static final int SYSTEM_TICKS = 12;

  static Proc of(String pid) {
    return new Proc(Path.of("/proc", pid));
  }

  /** Returns the process's proportional share of the memory that it maps, in MB of 2^20 bytes. */
  double pssMb() throws IOException {
    String pss =
        Files.readAllLines(folder.resolve("smaps_rollup")).stream()
            .filter(line -> line.startsWith("Pss:"))
            .findFirst()
            .orElseThrow();
    return Long.parseLong(pss.replaceAll("\\D", "")) / 1024.0;
  }

  /** Returns the CPU time of all its threads. */
  double cpuSeconds() throws IOException {
    String[] stat = stat();
    return (Long.parseLong(stat[USER_TICKS]) + Long.parseLong(stat[SYSTEM_TICKS]))
        / TICKS_PER_SECOND;
  }

  // The process name may contain spaces, so fields are counted from its end.
  private String[] stat() throws IOException {
    String stat = Files.readString(folder.resolve("stat"));
    return stat.substring(stat.lastIndexOf(')') + 2).split(" ");
  }
}
