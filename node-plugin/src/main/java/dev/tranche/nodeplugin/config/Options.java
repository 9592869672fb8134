package dev.tranche.nodeplugin.config;

import dev.tranche.nodeplugin.health.HealthOptions;
import dev.tranche.nodeplugin.health.XidPolicy;
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
 * @param hostProc the proc folder that shows the host's processes
 * @param hostLog the host's /var/log
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
    Path extenderTokenFile,
    HealthOptions health,
    OveruseOptions overuse,
    Path hostProc,
    Path hostLog,
    LimitOptions limits) {
  private static final int SAMPLES_MAX = 3_600;

  /**
   * Options for memory limits.
   *
   * @param required whether shares of time-sliced GPUs must have a memory limit of the driver's
   * @param optOut whether a pod can ask for no limit
   * @param cgroups the host's cgroup v2 folder, as mounted in this container
   */
  public record LimitOptions(boolean required, boolean optOut, Path cgroups) {}

  public static Options of(Settings<Setting> settings) {
    Optional<HostPort> extender =
        settings.text(Setting.EXTENDER_ADDRESS).isEmpty()
            ? Optional.empty()
            : Optional.of(settings.hostPort(Setting.EXTENDER_ADDRESS));
    if (extender.isPresent() && settings.text(Setting.NODE_NAME).isEmpty()) {
      settings.reportInvalid(
          Setting.NODE_NAME,
          "the node's name, since --%s is set".formatted(Setting.EXTENDER_ADDRESS.flag()));
    }
    if (settings.text(Setting.KUBELET_SOCKET).isEmpty()) {
      settings.reportInvalid(
          Setting.KUBELET_SOCKET, "the kubelet's socket, since the plugin registers");
    }
    return new Options(
        settings.text(Setting.NODE_NAME),
        path(settings, Setting.KUBELET_SOCKET),
        path(settings, Setting.POD_RESOURCES_SOCKET),
        path(settings, Setting.STATE_DIR),
        path(settings, Setting.CDI_ROOT),
        path(settings, Setting.MPS_ROOT_CTR_PATH),
        (int) settings.duration(Setting.SAMPLE_INTERVAL, "100ms", "60s").toMillis(),
        settings.hostPort(Setting.METRICS_ADDRESS),
        settings.isTrue(Setting.POD_METRICS),
        extender,
        path(settings, Setting.EXTENDER_CA_FILE),
        path(settings, Setting.EXTENDER_TOKEN_FILE),
        new HealthOptions(
            XidPolicy.parse(
                settings.text(Setting.DISABLE_HEALTHCHECKS),
                settings.text(Setting.ENABLE_HEALTHCHECKS),
                settings::warning),
            settings.duration(Setting.HEALTH_QUIET_PERIOD, "0s", "24h").toMillis()),
        new OveruseOptions(
            settings.number(Setting.OVERUSE_TOLERANCE, "%", 0, 100) / 100.0,
            settings.number(Setting.OVERUSE_SAMPLES, "", 1, SAMPLES_MAX),
            settings.isSecond(Setting.OVERUSE, "observe", "cordon-gpu")),
        path(settings, Setting.HOST_PROC),
        path(settings, Setting.HOST_LOG_DIR),
        new LimitOptions(
            settings.isSecond(Setting.MEMORY_LIMITS, "off", "required"),
            settings.isTrue(Setting.MEMORY_LIMIT_OPT_OUT),
            path(settings, Setting.CGROUP_CTR_PATH)));
  }

  private static Path path(Settings<Setting> settings, Setting setting) {
    return Path.of(settings.text(setting));
  }
}
