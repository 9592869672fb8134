package dev.tranche.nodeplugin.config;

import dev.tranche.process.settings.ConfigErrors;
import dev.tranche.process.settings.HostPort;
import dev.tranche.process.settings.Settings;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Options that are fixed for the life of the process, from flags and environment only.
 *
 * @param nodeName empty only when stand-alone
 * @param podMetrics whether the metrics name pods
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
    boolean podMetrics,
    Optional<HostPort> extender,
    Path extenderCaFile,
    Path extenderTokenFile) {
  /** File in the state folder with the last known value of the node's config label. */
  public static final String CONFIG_NAME_FILE = "config-name";

  public static Options of(Settings<Setting> settings, ConfigErrors findings) {
    Optional<HostPort> extender =
        settings.text(Setting.EXTENDER_ADDRESS).isEmpty()
            ? Optional.empty()
            : Optional.of(settings.hostPort(Setting.EXTENDER_ADDRESS, findings));
    if (extender.isPresent() && settings.text(Setting.NODE_NAME).isEmpty()) {
      settings.reportInvalid(
          Setting.NODE_NAME,
          "the node's name, since --%s is set".formatted(Setting.EXTENDER_ADDRESS.flag()),
          findings);
    }
    if (settings.text(Setting.KUBELET_SOCKET).isEmpty()) {
      settings.reportInvalid(
          Setting.KUBELET_SOCKET, "the kubelet's socket, since the plugin registers", findings);
    }
    return new Options(
        settings.text(Setting.NODE_NAME),
        path(settings, Setting.KUBELET_SOCKET),
        path(settings, Setting.POD_RESOURCES_SOCKET),
        path(settings, Setting.STATE_DIR),
        path(settings, Setting.CDI_ROOT),
        path(settings, Setting.MPS_ROOT_CTR_PATH),
        (int) settings.duration(Setting.SAMPLE_INTERVAL, "100ms", "60s", findings).toMillis(),
        settings.hostPort(Setting.METRICS_ADDRESS, findings),
        settings.isTrue(Setting.POD_METRICS, findings),
        extender,
        path(settings, Setting.EXTENDER_CA_FILE),
        path(settings, Setting.EXTENDER_TOKEN_FILE));
  }

  private static Path path(Settings<Setting> settings, Setting setting) {
    return Path.of(settings.text(setting));
  }
}
