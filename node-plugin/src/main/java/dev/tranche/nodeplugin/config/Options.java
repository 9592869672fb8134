package dev.tranche.nodeplugin.config;

import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What holds for the life of the process, from flags and environment alone.
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
    int sampleIntervalMs,
    HostPort metrics,
    Optional<HostPort> extender,
    Path extenderCaFile,
    Path extenderTokenFile) {
  private static final int SAMPLE_INTERVAL_MIN_MS = 100;
  private static final int SAMPLE_INTERVAL_MAX_MS = 60_000;
  private static final Pattern DURATION = Pattern.compile("(\\d{1,6})(ms|s)");

  public static Options of(Settings settings, Findings findings) {
    Optional<HostPort> extender =
        settings.text(Setting.EXTENDER_ADDRESS).isEmpty()
            ? Optional.empty()
            : Optional.of(hostPort(settings, Setting.EXTENDER_ADDRESS, findings));
    if (extender.isPresent() && settings.text(Setting.NODE_NAME).isEmpty()) {
      findings.error(Settings.named(Setting.NODE_NAME) + " is needed to report to an extender");
    }
    if (settings.text(Setting.KUBELET_SOCKET).isEmpty()) {
      findings.error(
          Settings.named(Setting.KUBELET_SOCKET)
              + " is empty; this plugin always registers, so give the kubelet's socket");
    }
    return new Options(
        settings.text(Setting.NODE_NAME),
        path(settings, Setting.KUBELET_SOCKET),
        path(settings, Setting.POD_RESOURCES_SOCKET),
        path(settings, Setting.STATE_DIR),
        path(settings, Setting.CDI_ROOT),
        durationMs(settings, findings),
        hostPort(settings, Setting.METRICS_ADDRESS, findings),
        extender,
        path(settings, Setting.EXTENDER_CA_FILE),
        path(settings, Setting.EXTENDER_TOKEN_FILE));
  }

  private static Path path(Settings settings, Setting setting) {
    return Path.of(settings.text(setting));
  }

  private static HostPort hostPort(Settings settings, Setting setting, Findings findings) {
    String text = settings.text(setting);
    return HostPort.parse(text)
        .orElseGet(
            () -> {
              findings.error(
                  Settings.named(setting)
                      + " is host:port, e.g. 0.0.0.0:9090, not \""
                      + text
                      + "\"");
              return new HostPort("0.0.0.0", 0);
            });
  }

  private static int durationMs(Settings settings, Findings findings) {
    String text = settings.text(Setting.SAMPLE_INTERVAL);
    Matcher match = DURATION.matcher(text);
    long ms =
        match.matches()
            ? Long.parseLong(match.group(1)) * (match.group(2).equals("s") ? 1000 : 1)
            : 0;
    if (ms < SAMPLE_INTERVAL_MIN_MS || ms > SAMPLE_INTERVAL_MAX_MS) {
      findings.error(
          Settings.named(Setting.SAMPLE_INTERVAL) + " is 100ms to 60s, not \"" + text + "\"");
      return 1000;
    }
    return (int) ms;
  }

  /** The folder in which the kubelet and its device plugins keep their sockets. */
  public Path socketDir() {
    return kubeletSocket.toAbsolutePath().resolveSibling("");
  }
}
