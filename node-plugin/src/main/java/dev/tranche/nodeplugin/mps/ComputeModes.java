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
 * Gives GPUs to their MPS servers alone, and puts back what was before. What was before is kept in
 * a file, since the run that puts it back may be a later one. Confined to the thread of NVML.
 */
final class ComputeModes {
  private static final Logger LOG = LoggerFactory.getLogger(ComputeModes.class);

  private final AdminNvml nvml;
  private final AtomicFile file;

  ComputeModes(AdminNvml nvml, Path file) {
    this.nvml = nvml;
    this.file = new AtomicFile(file);
  }

  /** Sets EXCLUSIVE_PROCESS on each; a GPU that is lost must not keep the others from it. */
  void exclusive(List<MpsGpu> gpus) throws MpsException, IOException {
    Map<String, Integer> before = kept();
    for (MpsGpu gpu : gpus) {
      unlessLost(gpu, () -> before.putIfAbsent(gpu.uuid(), nvml.computeMode(gpu.index())));
    }
    keep(before);
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
   * Puts back what an earlier call has changed; a GPU that is gone has nothing to put back.
   *
   * @param stay uuids of GPUs that stay as they are
   */
  void restore(Set<String> stay) throws IOException {
    Map<String, Integer> before = kept();
    Map<String, Integer> later = new TreeMap<>(before);
    later.keySet().retainAll(stay);
    before.keySet().removeAll(stay);
    int count = before.isEmpty() ? 0 : nvml.count();
    for (int index = 0; index < count; index++) {
      try {
        Integer mode = before.get(nvml.info(index).uuid());
        if (mode != null) {
          nvml.computeMode(index, mode);
        }
      } catch (NvmlException e) {
        LOG.warn("cannot restore the compute mode of GPU {}: {}", index, e.getMessage());
      }
    }
    if (later.isEmpty()) {
      Files.deleteIfExists(file.path());
    } else {
      keep(later);
    }
  }

  private Map<String, Integer> kept() throws IOException {
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

  private void keep(Map<String, Integer> modes) throws IOException {
    StringBuilder text = new StringBuilder();
    modes.forEach((uuid, mode) -> text.append(uuid).append('=').append(mode).append('\n'));
    file.write(text.toString());
  }
}
