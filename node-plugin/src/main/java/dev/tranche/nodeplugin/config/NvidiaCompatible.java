package dev.tranche.nodeplugin.config;

import dev.tranche.nodeplugin.config.Sharing.DeviceSelection;
import dev.tranche.nodeplugin.config.Sharing.SharedResource;
import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.process.settings.ConfigErrors;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Whether those keys of a config file count that NVIDIA's plugin reads and then ignores. */
public enum NvidiaCompatible {
  /** They do not count: {@code rename}, {@code devices} and {@code resources} cause a warning. */
  STRICT,
  /** They count. */
  EXTENDED;

  /** Returns the file without the keys that do not count. */
  ConfigFile applyTo(ConfigFile file, ConfigErrors findings) {
    if (this == EXTENDED) {
      file.sharing().resources().forEach(entry -> refuseEmptyDevices(entry, findings));
      return file;
    }
    if (!file.resources().equals(ResourceNames.DEFAULT)) {
      ignored("resources", findings);
    }
    return new ConfigFile(
        file.values(),
        ResourceNames.DEFAULT,
        new Sharing(entries(oneStrategy(file.sharing(), findings), findings)));
  }

  private static void refuseEmptyDevices(SharedResource entry, ConfigErrors findings) {
    if (entry.devices().equals(new DeviceSelection.Listed(List.of()))) {
      findings.error(entry.at() + ".devices is an empty list; name a device, or leave it out");
    }
  }

  // NVIDIA's plugin has one strategy for a node, and takes MPS.
  private static Sharing oneStrategy(Sharing sharing, ConfigErrors findings) {
    if (!sharing.uses(SharingStrategy.MPS)) {
      return sharing;
    }
    List<SharedResource> mps =
        sharing.resources().stream()
            .filter(entry -> entry.strategy() == SharingStrategy.MPS)
            .toList();
    if (mps.size() < sharing.resources().size()) {
      ignored("sharing.timeSlicing beside sharing.mps", findings);
    }
    return new Sharing(mps);
  }

  // Two entries of one name were made for different devices. NVIDIA's plugin makes replicas of all
  // devices for both entries, so the larger number counts.
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
            + Setting.NVIDIA_COMPATIBLE.describe()
            + " to extended");
  }
}
