package dev.tranche.nodeplugin.config;

/**
 * Every setting: flag, environment variable, place in the config file, default, meaning. NVIDIA's
 * device plugin's names where it has them. A flag beats the environment, which beats the file. An
 * empty file key: not settable there.
 */
public enum Setting {
  MIG_STRATEGY(
      "mig-strategy",
      "MIG_STRATEGY",
      "flags.migStrategy",
      "none",
      "none, single or mixed: how MIG devices are advertised"),
  FAIL_ON_INIT_ERROR(
      "fail-on-init-error",
      "FAIL_ON_INIT_ERROR",
      "flags.failOnInitError",
      "true",
      "exit when NVML does not start; false: wait for a driver to appear"),
  DRIVER_ROOT(
      "driver-root",
      "NVIDIA_DRIVER_ROOT",
      "flags.nvidiaDriverRoot",
      "/",
      "the driver's root folder on the host"),
  DEV_ROOT(
      "dev-root",
      "NVIDIA_DEV_ROOT",
      "flags.nvidiaDevRoot",
      "",
      "the host folder that holds dev; default: the driver root if it has one"),
  PASS_DEVICE_SPECS(
      "pass-device-specs",
      "PASS_DEVICE_SPECS",
      "flags.plugin.passDeviceSpecs",
      "false",
      "name the device nodes to the kubelet"),
  DEVICE_LIST_STRATEGY(
      "device-list-strategy",
      "DEVICE_LIST_STRATEGY",
      "flags.plugin.deviceListStrategy",
      "envvar",
      "one or more of envvar, volume-mounts, cdi-annotations, cdi-cri"),
  DEVICE_ID_STRATEGY(
      "device-id-strategy",
      "DEVICE_ID_STRATEGY",
      "flags.plugin.deviceIDStrategy",
      "uuid",
      "uuid or index: what containers are told"),
  GDRCOPY_ENABLED(
      "gdrcopy-enabled",
      "GDRCOPY_ENABLED",
      "flags.gdrcopyEnabled",
      "false",
      "containers get GDRCopy"),
  GDS_ENABLED(
      "gds-enabled",
      "GDS_ENABLED",
      "flags.gdsEnabled",
      "false",
      "containers get GPUDirect Storage"),
  MOFED_ENABLED(
      "mofed-enabled", "MOFED_ENABLED", "flags.mofedEnabled", "false", "containers get MOFED"),
  CDI_ANNOTATION_PREFIX(
      "cdi-annotation-prefix",
      "CDI_ANNOTATION_PREFIX",
      "flags.plugin.cdiAnnotationPrefix",
      "cdi.k8s.io/",
      "of the annotation that cdi-annotations writes"),
  NVIDIA_CDI_HOOK_PATH(
      "nvidia-cdi-hook-path",
      "NVIDIA_CDI_HOOK_PATH",
      "flags.plugin.nvidiaCTKPath",
      "/usr/bin/nvidia-ctk",
      "the program that CDI hooks run, on the host"),
  DRIVER_ROOT_CTR_PATH(
      "driver-root-ctr-path",
      "DRIVER_ROOT_CTR_PATH",
      "flags.plugin.containerDriverRoot",
      "/driver-root",
      "where the driver's root is mounted in this container"),
  MPS_ROOT(
      "mps-root",
      "MPS_ROOT",
      "flags.mpsRoot",
      "",
      "the host folder of the MPS control daemons; needed with sharing.mps"),
  MPS_ROOT_CTR_PATH(
      "mps-root-ctr-path",
      "TRANCHE_MPS_ROOT_CTR_PATH",
      "",
      "/mps",
      "where the host folder of the MPS control daemons is mounted in this container"),
  MPS_CONTROL_PROGRAM(
      "mps-control-program",
      "TRANCHE_MPS_CONTROL_PROGRAM",
      "",
      "nvidia-cuda-mps-control",
      "the driver's program that mps-control-daemon runs"),
  SHARED_DEVICES_ALLOCATION_POLICY(
      "shared-devices-allocation-policy",
      "SHARED_DEVICES_ALLOCATION_POLICY",
      "flags.plugin.sharedDevicesAllocationPolicy",
      "distributed",
      "distributed or packed: stand-alone only; else the assigned GPU, or the fullest with room"),
  DEVICE_DISCOVERY_STRATEGY(
      "device-discovery-strategy",
      "DEVICE_DISCOVERY_STRATEGY",
      "flags.deviceDiscoveryStrategy",
      "auto",
      "auto or nvml, which are the same; tegra is refused"),
  IMEX_CHANNEL_IDS(
      "imex-channel-ids",
      "IMEX_CHANNEL_IDS",
      "imex.channelIDs",
      "",
      "none, or 0: containers get it"),
  IMEX_REQUIRED(
      "imex-required", "IMEX_REQUIRED", "imex.required", "false", "a missing channel is an error"),
  CDI_FEATURE_FLAGS(
      "cdi-feature-flags", "CDI_FEATURE_FLAGS", "", "", "of the CDI spec's generation"),
  CDI_DISABLE_HOOKS(
      "cdi-disable-hooks",
      "CDI_DISABLE_HOOKS",
      "",
      "",
      "left out of the CDI spec; all: every hook"),
  CDI_ROOT("cdi-root", "TRANCHE_CDI_ROOT", "", "/var/run/cdi", "the host's folder of CDI specs"),
  KUBELET_SOCKET(
      "kubelet-socket",
      "KUBELET_SOCKET",
      "",
      "/var/lib/kubelet/device-plugins/kubelet.sock",
      "the kubelet's registration socket; ours stands beside it"),
  CONFIG_FILE("config-file", "CONFIG_FILE", "", "", "the one config file"),
  CONFIG_DIR(
      "config-dir",
      "TRANCHE_CONFIG_DIR",
      "",
      "",
      "a folder of config files, of which the node's label selects one"),
  DEFAULT_CONFIG(
      "default-config", "DEFAULT_CONFIG", "", "", "the file in config-dir for unlabelled nodes"),
  NVIDIA_COMPATIBLE(
      "nvidia-compatible",
      "TRANCHE_NVIDIA_COMPATIBLE",
      "",
      "strict",
      "strict or extended: rename, devices and resources of a config are ignored or used"),
  POD_RESOURCES_SOCKET(
      "pod-resources-socket",
      "TRANCHE_POD_RESOURCES_SOCKET",
      "",
      "/var/lib/kubelet/pod-resources/kubelet.sock",
      "the kubelet's PodResources socket"),
  STATE_DIR(
      "state-dir",
      "TRANCHE_STATE_DIR",
      "",
      "/var/lib/tranche",
      "a host folder for what outlives a restart: assignments, the last config's name"),
  SAMPLE_INTERVAL(
      "sample-interval",
      "TRANCHE_SAMPLE_INTERVAL",
      "",
      "1s",
      "how often NVML is read; 100ms to 60s"),
  EXTENDER_ADDRESS(
      "extender-address",
      "TRANCHE_EXTENDER_ADDRESS",
      "",
      "",
      "host:port of the extenders' headless Service; empty: stand-alone"),
  EXTENDER_CA_FILE(
      "extender-ca-file",
      "TRANCHE_EXTENDER_CA_FILE",
      "",
      "/etc/tranche/ca/ca.crt",
      "PEM bundle that the extender's certificate must chain to"),
  EXTENDER_TOKEN_FILE(
      "extender-token-file",
      "TRANCHE_EXTENDER_TOKEN_FILE",
      "",
      "/var/run/secrets/tranche/token",
      "projected token with audience tranche-extender"),
  NODE_NAME("node-name", "NODE_NAME", "", "", "this node's name in Kubernetes"),
  HEALTH_QUIET_PERIOD(
      "health-quiet-period",
      "TRANCHE_HEALTH_QUIET_PERIOD",
      "",
      "5m",
      "without another error, after which a GPU that answers takes pods again; 0s to 24h"),
  HOST_PROC(
      "host-proc",
      "TRANCHE_HOST_PROC",
      "",
      "/proc",
      "a proc folder that shows the host's processes, to tell which pod uses a GPU"),
  HOST_LOG_DIR(
      "host-log-dir",
      "TRANCHE_HOST_LOG_DIR",
      "",
      "/var/log",
      "the host's log folder; names in its pods and containers tell which pod uses a GPU"),
  OVERUSE(
      "overuse",
      "TRANCHE_OVERUSE",
      "",
      "observe",
      "observe or cordon-gpu: what follows when a container uses more memory than granted"),
  OVERUSE_TOLERANCE(
      "overuse-tolerance",
      "TRANCHE_OVERUSE_TOLERANCE",
      "",
      "5%",
      "how much more than granted is tolerated; 0% to 100%"),
  OVERUSE_SAMPLES(
      "overuse-samples",
      "TRANCHE_OVERUSE_SAMPLES",
      "",
      "10",
      "samples in a row before it is overuse; 1 to 3600"),
  METRICS_ADDRESS(
      "metrics-address",
      "TRANCHE_METRICS_ADDRESS",
      "",
      "0.0.0.0:9090",
      "where /metrics, /healthz and /readyz are served"),
  DISABLE_HEALTHCHECKS(
      "disable-healthchecks",
      "DP_DISABLE_HEALTHCHECKS",
      "",
      "",
      "all, xids, or comma-separated XIDs that do not make a GPU unhealthy"),
  ENABLE_HEALTHCHECKS(
      "enable-healthchecks",
      "DP_ENABLE_HEALTHCHECKS",
      "",
      "",
      "all, xids, or comma-separated XIDs that do after all; wins");

  private final String flag;
  private final String variable;
  private final String fileKey;
  private final String fallback;
  private final String meaning;

  Setting(String flag, String variable, String fileKey, String fallback, String meaning) {
    this.flag = flag;
    this.variable = variable;
    this.fileKey = fileKey;
    this.fallback = fallback;
    this.meaning = meaning;
  }

  public String flag() {
    return flag;
  }

  public String variable() {
    return variable;
  }

  public String fileKey() {
    return fileKey;
  }

  public String fallback() {
    return fallback;
  }

  public String meaning() {
    return meaning;
  }
}
