package dev.tranche.nodeplugin.config;

import dev.tranche.process.settings.ProcessSetting;
import java.util.List;

/**
 * Every setting with its key in the config file, its default and its meaning. The names of its flag
 * and environment variable follow from the constant's name. They are those of NVIDIA's device
 * plugin where it has them.
 */
public enum Setting implements ProcessSetting {
  MIG_STRATEGY(
      "flags.migStrategy", "none", "none, single or mixed: how MIG devices are advertised"),
  FAIL_ON_INIT_ERROR(
      "flags.failOnInitError",
      "true",
      "exit when NVML does not start; false: wait for a driver to appear"),
  DRIVER_ROOT("flags.nvidiaDriverRoot", "/", "the driver's root folder on the host"),
  DEV_ROOT(
      "flags.nvidiaDevRoot",
      "",
      "the host folder that holds dev; default: the driver root if it has one"),
  PASS_DEVICE_SPECS(
      "flags.plugin.passDeviceSpecs", "false", "also pass the device nodes to the kubelet"),
  DEVICE_LIST_STRATEGY(
      "flags.plugin.deviceListStrategy",
      "envvar",
      "one or more of envvar, volume-mounts, cdi-annotations, cdi-cri"),
  DEVICE_ID_STRATEGY(
      "flags.plugin.deviceIDStrategy",
      "uuid",
      "uuid or index: how GPUs are identified to containers"),
  GDRCOPY_ENABLED(
      "flags.gdrcopyEnabled", "false", "also pass GDRCopy's device nodes to containers"),
  GDS_ENABLED(
      "flags.gdsEnabled", "false", "also pass GPUDirect Storage's device nodes to containers"),
  MOFED_ENABLED("flags.mofedEnabled", "false", "also pass MOFED's device nodes to containers"),
  CDI_ANNOTATION_PREFIX(
      "flags.plugin.cdiAnnotationPrefix",
      "cdi.k8s.io/",
      "prefix of the annotation that cdi-annotations writes"),
  NVIDIA_CDI_HOOK_PATH(
      "flags.plugin.nvidiaCTKPath",
      "/usr/bin/nvidia-ctk",
      "the program that CDI hooks run, on the host"),
  DRIVER_ROOT_CTR_PATH(
      "flags.plugin.containerDriverRoot",
      "/driver-root",
      "where the driver's root is mounted in this container"),
  MPS_ROOT(
      "flags.mpsRoot", "", "the host folder of the MPS control daemons; needed with sharing.mps"),
  MPS_ROOT_CTR_PATH(
      "/mps", "where the host folder of the MPS control daemons is mounted in this container"),
  MPS_CONTROL_PROGRAM(
      "nvidia-cuda-mps-control", "the driver's program that mps-control-daemon runs"),
  SHARED_DEVICES_ALLOCATION_POLICY(
      "flags.plugin.sharedDevicesAllocationPolicy",
      "distributed",
      "distributed or packed: stand-alone only; else the assigned GPU, or the fullest one that"
          + " fits"),
  DEVICE_DISCOVERY_STRATEGY(
      "flags.deviceDiscoveryStrategy",
      "auto",
      "auto or nvml, which are the same; tegra is refused"),
  IMEX_CHANNEL_IDS("imex.channelIDs", "", "none, or 0: the IMEX channel that containers get"),
  IMEX_REQUIRED("imex.required", "false", "a missing IMEX channel is an error"),
  CDI_FEATURE_FLAGS("", "NVIDIA's flags for the generation of CDI specs"),
  CDI_DISABLE_HOOKS("", "hooks to leave out of the CDI specs; all: every hook"),
  CDI_ROOT("/var/run/cdi", "the host's folder of CDI specs"),
  KUBELET_SOCKET(
      "/var/lib/kubelet/device-plugins/kubelet.sock",
      "the kubelet's registration socket; the plugin's socket is beside it"),
  CONFIG_FILE("", "the config file"),
  CONFIG_DIR("", "a folder of config files, of which the node's label selects one"),
  DEFAULT_CONFIG("", "the file in config-dir for unlabelled nodes"),
  NVIDIA_COMPATIBLE(
      "strict",
      "strict or extended: rename, devices and resources of a config are ignored or used"),
  PLAIN_REQUESTS(
      "replicas",
      "unit of a plain number of GPUs, replicas or gpus; gpus: a request for the replicas of N GPUs"
          + " must be on N GPUs"),
  POD_RESOURCES_SOCKET(
      "/var/lib/kubelet/pod-resources/kubelet.sock", "the kubelet's PodResources socket"),
  STATE_DIR(
      "/var/lib/tranche",
      "a host folder for data that survives a restart: assignments, the last config's name"),
  SAMPLE_INTERVAL("1s", "how often NVML is read; 100ms to 60s"),
  EXTENDER_ADDRESS("", "host:port of the extenders' headless Service; empty: stand-alone"),
  EXTENDER_CA_FILE(
      "/etc/tranche/ca/ca.crt", "PEM bundle that the extender's certificate must chain to"),
  EXTENDER_TOKEN_FILE(
      "/var/run/secrets/tranche/token", "projected token with audience tranche-extender"),
  NODE_NAME("", "this node's name in Kubernetes"),
  HEALTH_QUIET_PERIOD(
      "5m", "time without errors after which a responding GPU takes pods again; 0s to 24h"),
  HOST_PROC(
      "/proc", "a proc folder that shows the host's processes, to find the pod that uses a GPU"),
  HOST_LOG_DIR(
      "/var/log",
      "the host's log folder; names in its pods and containers identify the pod that uses a GPU"),
  OVERUSE(
      "observe",
      "observe or cordon-gpu: reaction to a container that uses more memory than granted"),
  OVERUSE_TOLERANCE("5%", "how much more than granted is tolerated; 0% to 100%"),
  OVERUSE_SAMPLES("10", "samples in a row before it is overuse; 1 to 3600"),
  MEMORY_LIMITS(
      "off",
      "off or required: memory limits of the driver's for shares of time-sliced GPUs, which"
          + " NVIDIA's hook sets"),
  MEMORY_LIMIT_OPT_OUT(
      "true",
      "whether a pod can opt out of its memory limit by the annotation"
          + " tranche.dev/gpu-memory-limit: none"),
  CGROUP_CTR_PATH(
      "/sys/fs/cgroup",
      "where the host's cgroup v2 folder is mounted in this container; used with memory-limits"
          + " required"),
  METRICS_ADDRESS("0.0.0.0:9090", "where /metrics, /healthz and /readyz are served"),
  POD_METRICS("true", "whether /metrics shows each container; false: it names no pod"),
  DISABLE_HEALTHCHECKS("", "all, xids, or comma-separated XIDs that do not make a GPU unhealthy"),
  ENABLE_HEALTHCHECKS(
      "", "all, xids, or comma-separated XIDs that do make it unhealthy; takes precedence");

  private final String fileKey;
  private final String fallback;
  private final String meaning;

  Setting(String fallback, String meaning) {
    this("", fallback, meaning);
  }

  Setting(String fileKey, String fallback, String meaning) {
    this.fileKey = fileKey;
    this.fallback = fallback;
    this.meaning = meaning;
  }

  @Override
  public String variable() {
    return switch (this) {
      case DRIVER_ROOT, DEV_ROOT -> "NVIDIA_" + name();
      case DISABLE_HEALTHCHECKS, ENABLE_HEALTHCHECKS -> "DP_" + name();
      case CDI_FEATURE_FLAGS,
          CDI_DISABLE_HOOKS,
          KUBELET_SOCKET,
          CONFIG_FILE,
          DEFAULT_CONFIG,
          NODE_NAME ->
          name();
      default -> fileKey.isEmpty() ? "TRANCHE_" + name() : name();
    };
  }

  @Override
  public String fileKey() {
    return fileKey;
  }

  @Override
  public String fallback() {
    return fallback;
  }

  @Override
  public String meaning() {
    return meaning;
  }

  @Override
  public List<String> flagAliases() {
    return switch (this) {
      case DRIVER_ROOT -> List.of("nvidia-driver-root");
      case DEV_ROOT -> List.of("nvidia-dev-root");
      case DRIVER_ROOT_CTR_PATH -> List.of("container-driver-root");
      case NVIDIA_CDI_HOOK_PATH -> List.of("nvidia-ctk-path");
      default -> List.of();
    };
  }

  @Override
  public List<String> variableAliases() {
    return switch (this) {
      case DRIVER_ROOT_CTR_PATH -> List.of("CONTAINER_DRIVER_ROOT");
      case CONFIG_DIR -> List.of("CONFIG_FILE_SRCDIR");
      case NVIDIA_CDI_HOOK_PATH -> List.of("NVIDIA_CTK_PATH");
      default -> List.of();
    };
  }

  @Override
  public boolean isList() {
    return switch (this) {
      case DEVICE_LIST_STRATEGY, IMEX_CHANNEL_IDS, CDI_FEATURE_FLAGS, CDI_DISABLE_HOOKS -> true;
      default -> false;
    };
  }
}
