package dev.tranche.nodeplugin.config;

import java.nio.file.Path;

/**
 * How GPUs and their use are watched, from flags and environment alone.
 *
 * @param quietMs after which an unhealthy GPU that answers takes pods again
 * @param hostProc shows the host's processes
 * @param hostLog the host's /var/log
 * @param cordonOverused whether a GPU with overuse takes no new pods
 * @param overuseTolerance part of the grant: 0.05
 * @param overuseSamples in a row
 */
public record WatchOptions(
    long quietMs,
    Path hostProc,
    Path hostLog,
    boolean cordonOverused,
    double overuseTolerance,
    int overuseSamples) {
  private static final long QUIET_MAX_MS = 24 * 3_600_000L;
  private static final int TOLERANCE_MAX_PERCENT = 100;
  private static final int SAMPLES_MAX = 3_600;

  public static WatchOptions of(Settings settings, ConfigErrors findings) {
    return new WatchOptions(
        Options.durationMs(
            settings, Setting.HEALTH_QUIET_PERIOD, 0, QUIET_MAX_MS, "0s to 24h", findings),
        Path.of(settings.text(Setting.HOST_PROC)),
        Path.of(settings.text(Setting.HOST_LOG_DIR)),
        cordon(settings, findings),
        settings.number(
                Setting.OVERUSE_TOLERANCE,
                "(\\d{1,3})%",
                0,
                TOLERANCE_MAX_PERCENT,
                "0% to 100%",
                findings)
            / 100.0,
        settings.number(
            Setting.OVERUSE_SAMPLES, "(\\d{1,5})", 1, SAMPLES_MAX, "1 to 3600", findings));
  }

  private static boolean cordon(Settings settings, ConfigErrors findings) {
    return switch (settings.text(Setting.OVERUSE)) {
      case "observe" -> false;
      case "cordon-gpu" -> true;
      default -> {
        settings.wrong(Setting.OVERUSE, "observe or cordon-gpu", findings);
        yield false;
      }
    };
  }
}
