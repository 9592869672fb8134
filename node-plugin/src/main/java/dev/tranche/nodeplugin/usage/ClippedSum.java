package dev.tranche.nodeplugin.usage;

import java.util.Collection;
import java.util.List;

/** Keeps the sum of the parts within the whole: NVML reads both at different moments. */
final class ClippedSum {
  private ClippedSum() {}

  /** Scaled down in proportion where they are too much together. */
  static List<ContainerUse> to(Collection<ContainerUse> uses, long memoryBytes, int smPercent) {
    long memory = uses.stream().mapToLong(ContainerUse::memoryUsedBytes).sum();
    double sm = uses.stream().mapToDouble(ContainerUse::smPercent).sum();
    double ofMemory = memoryBytes >= 0 && memory > memoryBytes ? (double) memoryBytes / memory : 1;
    double ofSm = sm > smPercent ? smPercent / sm : 1;
    return uses.stream()
        .map(u -> u.with((long) Math.floor(u.memoryUsedBytes() * ofMemory), u.smPercent() * ofSm))
        .toList();
  }
}
