package dev.tranche.nodeplugin.config;

import dev.tranche.nodeplugin.health.HealthOptions;
import dev.tranche.nodeplugin.health.XidPolicy;
import dev.tranche.nodeplugin.usage.OveruseOptions;
import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.Settings;
import java.nio.file.Path;

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
   * @param required whether shares of time-sliced GPUs must have a memory limit of the driver's
   * @param optOut whether a pod can ask for no limit
   * @param cgroups the host's cgroup v2 folder, as mounted in this container
   */
  public record LimitOptions(boolean required, boolean optOut, Path cgroups) {
    static LimitOptions of(Settings<Setting> settings, ConfigErrors findings) {
      return new LimitOptions(
          settings.isSecond(Setting.MEMORY_LIMITS, "off", "required", findings),
          settings.isTrue(Setting.MEMORY_LIMIT_OPT_OUT, findings),
          Path.of(settings.text(Setting.CGROUP_CTR_PATH)));
    }
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
