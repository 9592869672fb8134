package dev.tranche.e2e.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The kernel's figures of a process on this machine. */
record Proc(long pid) {
  /** Returns the process's proportional share of the memory that it maps, in MB of 2^20 bytes. */
  double pssMb() throws IOException {
    String pss =
        Files.readAllLines(Path.of("/proc", Long.toString(pid), "smaps_rollup")).stream()
            .filter(line -> line.startsWith("Pss:"))
            .findFirst()
            .orElseThrow();
    return Long.parseLong(pss.replaceAll("\\D", "")) / 1024.0;
  }

  /** Returns the CPU time of all its threads. */
  double cpuSeconds() {
    return ProcessHandle.of(pid).orElseThrow().info().totalCpuDuration().orElseThrow().toNanos()
        / 1e9;
  }
}
