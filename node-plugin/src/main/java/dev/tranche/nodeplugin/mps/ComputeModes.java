package dev.tranche.nodeplugin.mps;

import dev.tranche.nodeplugin.file.AtomicFile;
import dev.tranche.nodeplugin.nvml.AdminNvml;
import dev.tranche.nodeplugin.nvml.NvmlException;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reserves GPUs for their MPS servers, and restores the earlier compute modes. Those are kept in a
 * file, since a later run may have to restore them. Confined to the thread that calls NVML.
 */
final class ComputeModes {
  private static final Logger LOG = LoggerFactory.getLogger(ComputeModes.class);

  private final AdminNvml nvml;
  private final AtomicFile file;

  ComputeModes(AdminNvml nvml, Path file) {
    this.nvml = nvml;
    this.file = new AtomicFile(file);
  }

  /** Sets EXCLUSIVE_PROCESS on each GPU; a lost GPU does not stop this for the others. */
  void setExclusive(List<MpsGpu> gpus) throws MpsException, IOException {
    Map<String, Integer> before = readKept();
    for (MpsGpu gpu : gpus) {
      unlessLost(gpu, () -> before.putIfAbsent(gpu.uuid(), nvml.computeMode(gpu.index())));
    }
    writeKept(before);
    for (MpsGpu gpu : gpus) {
      unlessLost(
          gpu, () -> nvml.computeMode(gpu.index(), AdminNvml.COMPUTE_MODE_EXCLUSIVE_PROCESS));
    }
  }

  private static void unlessLost(MpsGpu gpu, Runnable call) throws MpsException {
    try {
      call.run();
    } catch (NvmlException e) {
      if (!e.lost()) {
        throw new MpsException(
            e.getMessage()
                + "; the compute mode is root's to set, on a GPU that is not in MIG mode");
      }
      LOG.warn("{} keeps its compute mode: {}", gpu.uuid(), e.getMessage());
    }
  }

  /**
   * Restores the modes that an earlier call has changed, except of GPUs that are gone. What cannot
   * be restored now is kept for a later call. Otherwise the mode that was set would later be taken
   * for the earlier one.
   *
   * @param unchanged uuids of GPUs that stay as they are
   */
  void restore(Set<String> unchanged) throws IOException {
    Map<String, Integer> before = readKept();
    Map<String, Integer> remaining = new TreeMap<>(before);
    remaining.keySet().retainAll(unchanged);
    before.keySet().removeAll(unchanged);
    int count = before.isEmpty() ? 0 : nvml.count();
    boolean failed = false;
    for (int index = 0; index < count; index++) {
      try {
        String uuid = nvml.info(index).uuid();
        Integer mode = before.get(uuid);
        if (mode != null) {
          nvml.computeMode(index, mode);
          before.remove(uuid);
        }
      } catch (NvmlException e) {
        failed = true;
        LOG.warn("cannot restore the compute mode of GPU {} now: {}", index, e.getMessage());
      }
    }
    if (failed) {
      remaining.putAll(before);
    }
    if (remaining.isEmpty()) {
      Files.deleteIfExists(file.path());
    } else {
      writeKept(remaining);
    }
  }

  private Map<String, Integer> readKept() throws IOException {
    Properties text = new Properties();
    text.load(new StringReader(file.readText().orElse("")));
    Map<String, Integer> modes = new TreeMap<>();
    for (String uuid : text.stringPropertyNames()) {
      modes.put(uuid, mode(text.getProperty(uuid)));
    }
    return modes;
  }

  private static int mode(String text) {
    return text.matches("[0-3]") ? Integer.parseInt(text) : AdminNvml.COMPUTE_MODE_DEFAULT;
  }

  private void writeKept(Map<String, Integer> modes) throws IOException {
    StringBuilder text = new StringBuilder();
    modes.forEach((uuid, mode) -> text.append(uuid).append('=').append(mode).append('\n'));
    file.write(text.toString());
  }
}
