package dev.tranche.nodeplugin.config;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What of a config file counts that NVIDIA's plugin reads and then ignores. */
public enum NvidiaCompatible {
  /** Nothing: {@code rename}, {@code devices} and {@code resources} are warned about. */
  STRICT,
  /** All of it. */
  EXTENDED;

  /** The file as it counts. */
  ConfigFile applyTo(ConfigFile file, ConfigErrors findings) {
    if (this == EXTENDED) {
      return file;
    }
    if (!file.resources().equals(ResourceNames.DEFAULT)) {
      ignored("resources", findings);
    }
    return new ConfigFile(
        file.values(), ResourceNames.DEFAULT, new Sharing(entries(file.sharing(), findings)));
  }

  // Two entries of one name were made for different devices. NVIDIA's plugin makes the replicas of
  // both of all devices, so that the larger number counts.
  private static List<SharedResource> entries(Sharing sharing, ConfigErrors findings) {
    Map<List<Object>, SharedResource> byName = new LinkedHashMap<>();
    for (SharedResource entry : sharing.resources()) {
      if (!entry.advertised().equals(entry.unrenamed())) {
        ignored(entry.at() + ".rename", findings);
      }
      if (!(entry.devices() instanceof DeviceSelection.All)) {
        ignored(entry.at() + ".devices", findings);
      }
      byName.merge(
          List.of(entry.strategy(), entry.name()),
          entry.withoutExtensions(),
          (one, other) -> other.replicas() > one.replicas() ? other : one);
    }
    return new ArrayList<>(byName.values());
  }

  private static void ignored(String key, ConfigErrors findings) {
    findings.warning(
        key
            + " is ignored, as NVIDIA's plugin ignores it; to use it, set "
            + Settings.named(Setting.NVIDIA_COMPATIBLE)
            + " to extended");
  }
}
