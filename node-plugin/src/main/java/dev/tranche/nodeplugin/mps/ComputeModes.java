package dev.tranche.nodeplugin.mps;

import dev.tranche.nodeplugin.file.AtomicFile;
import dev.tranche.nodeplugin.nvml.AdminNvml;
import dev.tranche.nodeplugin.nvml.NvmlException;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.IntConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reserves GPUs for their MPS servers, and restores the earlier compute modes. Those are kept in a
 * file, since a later run may have to restore them. Confined to the thread that calls NVML.
 */
record ComputeModes(AdminNvml nvml, AtomicFile file) {
  private static final Logger LOG = LoggerFactory.getLogger(ComputeModes.class);

  /** Sets EXCLUSIVE_PROCESS on each GPU; a lost GPU does not stop this for the others. */
  void setExclusive(List<MpsGpu> gpus) throws MpsException, IOException {
    Map<String, Integer> indexes = indexes();
    Map<String, Integer> before = readKept();
    for (MpsGpu gpu : gpus) {
      unlessLost(gpu, indexes, index -> before.putIfAbsent(gpu.uuid(), nvml.computeMode(index)));
    }
    writeKept(before);
    for (MpsGpu gpu : gpus) {
      unlessLost(
          gpu, indexes, index -> nvml.computeMode(index, AdminNvml.COMPUTE_MODE_EXCLUSIVE_PROCESS));
    }
  }

  /** Returns the indexes of the GPUs that answer, by uuid. */
  private Map<String, Integer> indexes() {
    Map<String, Integer> indexes = new HashMap<>();
    int count = nvml.count();
    for (int index = 0; index < count; index++) {
      try {
        indexes.put(nvml.info(index).uuid(), index);
      } catch (NvmlException e) {
        NvmlException.rethrowIfDriverGone(e);
        LOG.warn("leaving out GPU {}: {}", index, e.getMessage());
      }
    }
    return indexes;
  }

  private static void unlessLost(MpsGpu gpu, Map<String, Integer> indexes, IntConsumer call)
      throws MpsException {
    Integer index = indexes.get(gpu.uuid());
    if (index == null) {
      return;
    }
    try {
      call.accept(index);
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
    if (!before.isEmpty()) {
      Map<String, Integer> indexes = indexes();
      boolean allAnswer = indexes.size() == nvml.count();
      before.forEach(
          (uuid, mode) -> {
            Integer index = indexes.get(uuid);
            if (index == null ? !allAnswer : !restore(index, mode)) {
              remaining.put(uuid, mode);
            }
          });
    }
    if (remaining.isEmpty()) {
      Files.deleteIfExists(file.path());
    } else {
      writeKept(remaining);
    }
  }

  private boolean restore(int index, int mode) {
    try {
      nvml.computeMode(index, mode);
      return true;
    } catch (NvmlException e) {
      LOG.warn("cannot restore the compute mode of GPU {} now: {}", index, e.getMessage());
      return false;
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
