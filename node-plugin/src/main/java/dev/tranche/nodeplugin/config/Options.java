package dev.tranche.nodeplugin.config;

import dev.tranche.api.HostPort;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Options that are fixed for the life of the process, from flags and environment only.
 *
 * @param nodeName empty only when stand-alone
 * @param extender the extenders' headless Service; empty: stand-alone
 */
public record Options(
    String nodeName,
    Path kubeletSocket,
    Path podResourcesSocket,
    Path stateDir,
    Path cdiRoot,
    Path mpsRootInContainer,
    int sampleIntervalMs,
    HostPort metrics,
    Optional<HostPort> extender,
    Path extenderCaFile,
    Path extenderTokenFile) {
  /** File in the state folder with the last known value of the node's config label. */
  public static final String CONFIG_NAME_FILE = "config-name";

  private static final int SAMPLE_INTERVAL_MIN_MS = 100;
  private static final int SAMPLE_INTERVAL_MAX_MS = 60_000;
  private static final Pattern DURATION = Pattern.compile("(\\d{1,6})(ms|s|m|h)");

  public static Options of(Settings settings, ConfigErrors findings) {
    Optional<HostPort> extender =
        settings.text(Setting.EXTENDER_ADDRESS).isEmpty()
            ? Optional.empty()
            : Optional.of(hostPort(settings, Setting.EXTENDER_ADDRESS, findings));
    if (extender.isPresent() && settings.text(Setting.NODE_NAME).isEmpty()) {
      findings.error(Settings.describe(Setting.NODE_NAME) + " is needed to report to an extender");
    }
    if (settings.text(Setting.KUBELET_SOCKET).isEmpty()) {
      findings.error(
          Settings.describe(Setting.KUBELET_SOCKET)
              + " is empty; this plugin always registers, so give the kubelet's socket");
    }
    return new Options(
        settings.text(Setting.NODE_NAME),
        path(settings, Setting.KUBELET_SOCKET),
        path(settings, Setting.POD_RESOURCES_SOCKET),
        path(settings, Setting.STATE_DIR),
        path(settings, Setting.CDI_ROOT),
        path(settings, Setting.MPS_ROOT_CTR_PATH),
        (int)
            durationMs(
                settings,
                Setting.SAMPLE_INTERVAL,
                SAMPLE_INTERVAL_MIN_MS,
                SAMPLE_INTERVAL_MAX_MS,
                "100ms to 60s",
                findings),
        hostPort(settings, Setting.METRICS_ADDRESS, findings),
        extender,
        path(settings, Setting.EXTENDER_CA_FILE),
        path(settings, Setting.EXTENDER_TOKEN_FILE));
  }

  private static Path path(Settings settings, Setting setting) {
    return Path.of(settings.text(setting));
  }

  private static HostPort hostPort(Settings settings, Setting setting, ConfigErrors findings) {
    return HostPort.parse(settings.text(setting))
        .orElseGet(
            () -> {
              settings.reportInvalid(setting, "host:port, e.g. 0.0.0.0:9090", findings);
              return new HostPort("0.0.0.0", 0);
            });
  }

  /**
   * Returns a setting's duration in milliseconds.
   *
   * @param allowed the bounds, for the error message
   */
  static long durationMs(
      Settings settings,
      Setting setting,
      long least,
      long most,
      String allowed,
      ConfigErrors findings) {
    Matcher match = DURATION.matcher(settings.text(setting));
    long ms = match.matches() ? Long.parseLong(match.group(1)) * unitMs(match.group(2)) : -1;
    if (ms < least || ms > most) {
      settings.reportInvalid(setting, allowed, findings);
      return least;
    }
    return ms;
  }

  private static long unitMs(String unit) {
    return switch (unit) {
      case "ms" -> 1;
      case "s" -> 1_000;
      case "m" -> 60_000;
      default -> 3_600_000;
    };
  }
}
