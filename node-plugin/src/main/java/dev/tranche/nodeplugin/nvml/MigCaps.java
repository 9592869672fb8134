package dev.tranche.nodeplugin.nvml;

import dev.tranche.nodeplugin.file.FileAccess;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The device nodes that a container needs for a MIG device, from the kernel's list of their minor
 * numbers.
 *
 * @param minors minor numbers by path, such as {@code gpu0/gi7/ci0/access}
 */
record MigCaps(Map<String, String> minors) {
  /**
   * Reads the list; empty if there is no MIG.
   *
   * @param proc normally /proc
   */
  static MigCaps read(Path proc) {
    Map<String, String> minors = new HashMap<>();
    for (String line :
        FileAccess.text(proc.resolve("driver/nvidia-caps/mig-minors")).lines().toList()) {
      String[] fields = line.strip().split("\\s+");
      if (fields.length == 2) {
        minors.put(fields[0], fields[1]);
      }
    }
    return new MigCaps(minors);
  }

  /** Returns the GPU instance's node, then the compute instance's; empty if either is unknown. */
  List<String> nodes(int minor, int gpuInstance, int computeInstance) {
    String instance = "gpu" + minor + "/gi" + gpuInstance;
    String gpuCap = minors.get(instance + "/access");
    String computeCap = minors.get(instance + "/ci" + computeInstance + "/access");
    return gpuCap == null || computeCap == null
        ? List.of()
        : List.of(node(gpuCap), node(computeCap));
  }

  private static String node(String minor) {
    return "/dev/nvidia-caps/nvidia-cap" + minor;
  }
}
