package dev.tranche.nodeplugin.config;

import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import java.nio.file.Path;
import java.util.List;

/**
 * Options for memory limits, from flags and environment only.
 *
 * @param optOut whether a pod can ask for no limit
 * @param cgroups the host's cgroup v2 folder, as mounted in this container
 * @param toolkit the folder of NVIDIA's container toolkit, as mounted in this container
 * @param runtimeConfig the folder of its runtime's config file, likewise
 */
public record LimitOptions(
    MemoryLimits mode, boolean optOut, Path cgroups, Path toolkit, Path runtimeConfig) {
  static LimitOptions of(Settings<Setting> settings, ConfigErrors findings) {
    return new LimitOptions(
        settings.oneOf(Setting.MEMORY_LIMITS, List.of(MemoryLimits.values()), findings),
        settings.isTrue(Setting.MEMORY_LIMIT_OPT_OUT, findings),
        Path.of(settings.text(Setting.CGROUP_CTR_PATH)),
        Path.of(settings.text(Setting.TOOLKIT_CTR_PATH)),
        Path.of(settings.text(Setting.RUNTIME_CONFIG_CTR_PATH)));
  }

  public boolean required() {
    return mode == MemoryLimits.REQUIRED;
  }
}
