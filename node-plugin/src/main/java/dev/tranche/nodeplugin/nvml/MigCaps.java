package dev.tranche.nodeplugin.nvml;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The device nodes that open a MIG device to a container, from the kernel's list of their minors.
 *
 * @param minors by path, such as {@code gpu0/gi7/ci0/access}
 */
record MigCaps(Map<String, String> minors) {
  MigCaps {
    minors = Map.copyOf(minors);
  }

  /**
   * Reads them; none where MIG is not there.
   *
   * @param proc normally /proc
   */
  static MigCaps read(Path proc) {
    Map<String, String> minors = new HashMap<>();
    try {
      for (String line : Files.readAllLines(proc.resolve("driver/nvidia-caps/mig-minors"))) {
        String[] words = line.strip().split("\\s+");
        if (words.length == 2) {
          minors.put(words[0], words[1]);
        }
      }
    } catch (IOException absent) {
      return new MigCaps(Map.of());
    }
    return new MigCaps(minors);
  }

  /** The GPU instance's node, then the compute instance's; empty if either is not known. */
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
