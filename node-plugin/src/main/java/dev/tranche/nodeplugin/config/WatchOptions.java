package dev.tranche.nodeplugin.config;

import dev.tranche.nodeplugin.health.HealthOptions;
import dev.tranche.nodeplugin.health.XidPolicy;
import dev.tranche.nodeplugin.usage.OveruseOptions;
import java.nio.file.Path;

/**
 * Options for monitoring GPUs and their use, from flags and environment only.
 *
 * @param hostProc the proc folder that shows the host's processes
 * @param hostLog the host's /var/log
 */
public record WatchOptions(
    HealthOptions health, OveruseOptions overuse, Path hostProc, Path hostLog) {
  private static final long QUIET_MAX_MS = 24 * 3_600_000L;
  private static final int TOLERANCE_MAX_PERCENT = 100;
  private static final int SAMPLES_MAX = 3_600;

  public static WatchOptions of(Settings settings, ConfigErrors findings) {
    return new WatchOptions(
        new HealthOptions(
            xids(settings, findings),
            Options.durationMs(
                settings, Setting.HEALTH_QUIET_PERIOD, 0, QUIET_MAX_MS, "0s to 24h", findings)),
        overuse(settings, findings),
        Path.of(settings.text(Setting.HOST_PROC)),
        Path.of(settings.text(Setting.HOST_LOG_DIR)));
  }

  private static XidPolicy xids(Settings settings, ConfigErrors findings) {
    return XidPolicy.parse(
        settings.text(Setting.DISABLE_HEALTHCHECKS),
        settings.text(Setting.ENABLE_HEALTHCHECKS),
        findings::warning);
  }

  private static OveruseOptions overuse(Settings settings, ConfigErrors findings) {
    int tolerancePercent =
        settings.number(
            Setting.OVERUSE_TOLERANCE,
            "(\\d{1,3})%",
            0,
            TOLERANCE_MAX_PERCENT,
            "0% to 100%",
            findings);
    int samples =
        settings.number(
            Setting.OVERUSE_SAMPLES, "(\\d{1,5})", 1, SAMPLES_MAX, "1 to 3600", findings);
    return new OveruseOptions(tolerancePercent / 100.0, samples, cordon(settings, findings));
  }

  private static boolean cordon(Settings settings, ConfigErrors findings) {
    return switch (settings.text(Setting.OVERUSE)) {
      case "observe" -> false;
      case "cordon-gpu" -> true;
      default -> {
        settings.reportInvalid(Setting.OVERUSE, "observe or cordon-gpu", findings);
        yield false;
      }
    };
  }
}
