package dev.tranche.nodeplugin.config;

import dev.tranche.nodeplugin.health.HealthOptions;
import dev.tranche.nodeplugin.health.XidPolicy;
import dev.tranche.nodeplugin.usage.OveruseOptions;
import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import java.nio.file.Path;
import java.util.List;

/**
 * Options for monitoring GPUs and their use, from flags and environment only.
 *
 * @param hostProc the proc folder that shows the host's processes
 * @param hostLog the host's /var/log
 */
public record WatchOptions(
    HealthOptions health,
    OveruseOptions overuse,
    Path hostProc,
    Path hostLog,
    LimitOptions limits) {
  /**
   * Options for memory limits, from flags and environment only.
   *
   * @param byPlugin whether the plugin sets the limits, and not NVIDIA's hook
   * @param optOut whether a pod can ask for no limit
   * @param cgroups the host's cgroup v2 folder, as mounted in this container
   * @param toolkit the folder of NVIDIA's container toolkit, as mounted in this container
   * @param runtimeConfig the folder of its runtime's config file, likewise
   */
  public record LimitOptions(
      MemoryLimits mode,
      boolean byPlugin,
      boolean optOut,
      Path cgroups,
      Path toolkit,
      Path runtimeConfig) {
    static LimitOptions of(Settings<Setting> settings, ConfigErrors findings) {
      return new LimitOptions(
          settings.oneOf(Setting.MEMORY_LIMITS, List.of(MemoryLimits.values()), findings),
          settings.isSecond(Setting.MEMORY_LIMITS_SET_BY, "hook", "plugin", findings),
          settings.isTrue(Setting.MEMORY_LIMIT_OPT_OUT, findings),
          Path.of(settings.text(Setting.CGROUP_CTR_PATH)),
          Path.of(settings.text(Setting.TOOLKIT_CTR_PATH)),
          Path.of(settings.text(Setting.RUNTIME_CONFIG_CTR_PATH)));
    }

    public boolean required() {
      return mode == MemoryLimits.REQUIRED;
    }
  }

  /** Whether shares of time-sliced GPUs get a memory limit of the driver's. */
  public enum MemoryLimits {
    OFF,
    /** Where that is known to work on real GPUs, which nobody has reported yet: nowhere. */
    AUTO,
    /** A GPU whose memory cannot be limited takes no shares. */
    REQUIRED
  }

  private static final int SAMPLES_MAX = 3_600;

  public static WatchOptions of(Settings<Setting> settings, ConfigErrors findings) {
    return new WatchOptions(
        new HealthOptions(
            xids(settings, findings),
            settings.duration(Setting.HEALTH_QUIET_PERIOD, "0s", "24h", findings).toMillis()),
        overuse(settings, findings),
        Path.of(settings.text(Setting.HOST_PROC)),
        Path.of(settings.text(Setting.HOST_LOG_DIR)),
        LimitOptions.of(settings, findings));
  }

  private static XidPolicy xids(Settings<Setting> settings, ConfigErrors findings) {
    return XidPolicy.parse(
        settings.text(Setting.DISABLE_HEALTHCHECKS),
        settings.text(Setting.ENABLE_HEALTHCHECKS),
        findings::warning);
  }

  private static OveruseOptions overuse(Settings<Setting> settings, ConfigErrors findings) {
    int tolerancePercent = settings.number(Setting.OVERUSE_TOLERANCE, "%", 0, 100, findings);
    int samples = settings.number(Setting.OVERUSE_SAMPLES, "", 1, SAMPLES_MAX, findings);
    boolean cordon = settings.isSecond(Setting.OVERUSE, "observe", "cordon-gpu", findings);
    return new OveruseOptions(tolerancePercent / 100.0, samples, cordon);
  }
}
