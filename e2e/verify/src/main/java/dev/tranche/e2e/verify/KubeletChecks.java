package dev.tranche.e2e.verify;

import dev.tranche.api.kubelet.ContainerAllocateResponse;
import dev.tranche.api.kubelet.Device;
import dev.tranche.api.kubelet.DeviceSpec;
import dev.tranche.api.kubelet.RegisterRequest;
import dev.tranche.e2e.kubelet.FakeKubelet;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;

/** Checks the node plugin with a fake kubelet, for each way to pass GPUs to a container. */
final class KubeletChecks {
  private static final String AREA = "Device plugin beside a fake kubelet";
  private static final String RESOURCE = "nvidia.com/gpu";
  private static final String CDI_DEVICE = "k8s.device-plugin.nvidia.com/gpu=";
  private static final List<String> CDI_STRATEGIES = List.of("cdi-annotations", "cdi-cri");

  private final VerifyOptions options;
  private final Report report;
  private final int gpus;

  /**
   * @param gpus that NVML has counted
   */
  KubeletChecks(VerifyOptions options, Report report, int gpus) {
    this.options = options;
    this.report = report;
    this.gpus = gpus;
  }

  /**
   * Checks registration, devices, samples of NVML, and Allocate by environment variable.
   *
   * @return whether the plugin works at all
   */
  boolean envvar() throws Exception {
    try (PluginRun run =
        PluginRun.start(options, true, "--device-list-strategy=envvar", "--pass-device-specs")) {
      if (!run.awaitDevices(RESOURCE)) {
        report.add(AREA, "Register", CheckStatus.FAILED, noDevices(run));
        return false;
      }
      register(run.kubelet());
      devices(run.kubelet());
      allocate(run.kubelet(), "envvar");
      nodes(run.kubelet());
      new SampleChecks(options, report).run(run);
      return true;
    }
  }

  private static String noDevices(PluginRun run) {
    return "the plugin has sent no device: " + run.lastWarning();
  }

  private void register(FakeKubelet kubelet) {
    RegisterRequest request = kubelet.registered().get(RESOURCE);
    boolean ok =
        request != null
            && request.getVersion().equals("v1beta1")
            && request.getOptions().getGetPreferredAllocationAvailable();
    report.add(
        AREA,
        "Register",
        ok ? CheckStatus.OK : CheckStatus.FAILED,
        request == null
            ? "registered is " + kubelet.registered().keySet()
            : "%s as %s, device plugin API %s"
                .formatted(request.getResourceName(), request.getEndpoint(), request.getVersion()));
  }

  private void devices(FakeKubelet kubelet) {
    List<Device> devices = kubelet.devices().getOrDefault(RESOURCE, List.of());
    long uuids = devices.stream().map(device -> uuid(device.getID())).distinct().count();
    long sick = devices.stream().filter(device -> !device.getHealth().equals("Healthy")).count();
    boolean all = uuids == gpus && devices.size() == 2 * gpus && sick == 0;
    report.add(
        AREA,
        "ListAndWatch",
        all ? CheckStatus.OK : CheckStatus.FAILED,
        "%d replicas of %d GPUs, %d of them unhealthy; NVML counts %d GPUs"
            .formatted(devices.size(), uuids, sick, gpus));
  }

  private static String replica(FakeKubelet kubelet) {
    return kubelet.devices().getOrDefault(RESOURCE, List.of()).getFirst().getID();
  }

  private static String uuid(String replica) {
    return replica.replaceFirst("::.*", "");
  }

  /** Checks Allocate by the other three strategies, and the CDI specs. */
  void otherStrategies() throws Exception {
    for (String strategy : List.of("volume-mounts", "cdi-annotations", "cdi-cri")) {
      try (PluginRun run = PluginRun.start(options, true, "--device-list-strategy=" + strategy)) {
        if (!run.awaitDevices(RESOURCE)) {
          report.add(AREA, "Allocate, " + strategy, CheckStatus.FAILED, noDevices(run));
          continue;
        }
        allocate(run.kubelet(), strategy);
        if (strategy.equals(CDI_STRATEGIES.getLast())) {
          new CdiChecks(options, report).run(run.cdi());
        }
      }
    }
  }

  private void allocate(FakeKubelet kubelet, String strategy) {
    String replica = replica(kubelet);
    String name = "Allocate, " + strategy;
    try {
      ContainerAllocateResponse answer = kubelet.allocate(RESOURCE, List.of(replica));
      String given = given(answer, strategy);
      String wanted = wanted(uuid(replica), strategy);
      report.add(
          AREA,
          name,
          given.equals(wanted) ? CheckStatus.OK : CheckStatus.FAILED,
          given.equals(wanted) ? wanted : "answers \"%s\", not %s".formatted(given, wanted));
    } catch (TimeoutException | RuntimeException e) {
      report.add(AREA, name, CheckStatus.FAILED, "no answer: " + e);
    }
  }

  private static String wanted(String uuid, String strategy) {
    return switch (strategy) {
      case "envvar" -> uuid;
      case "volume-mounts" -> "/var/run/nvidia-container-devices/" + uuid;
      default -> CDI_DEVICE + uuid;
    };
  }

  private static String given(ContainerAllocateResponse answer, String strategy) {
    return switch (strategy) {
      case "envvar" -> answer.getEnvsOrDefault("NVIDIA_VISIBLE_DEVICES", "");
      case "volume-mounts" ->
          String.join(
              ",", answer.getMountsList().stream().map(mount -> mount.getContainerPath()).toList());
      case "cdi-annotations" -> String.join(",", answer.getAnnotationsMap().values());
      default ->
          String.join(
              ",", answer.getCdiDevicesList().stream().map(device -> device.getName()).toList());
    };
  }

  /** Checks the device nodes. CUDA does not start without the three that are needed. */
  private void nodes(FakeKubelet kubelet) throws IOException, TimeoutException {
    String replica = replica(kubelet);
    List<String> given =
        kubelet.allocate(RESOURCE, List.of(replica)).getDevicesList().stream()
            .map(DeviceSpec::getHostPath)
            .toList();
    List<String> needed = List.of("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools");
    List<String> lacking =
        Stream.concat(
                needed.stream()
                    .filter(node -> given.stream().noneMatch(path -> path.endsWith(node)))
                    .map(node -> node + " is not named"),
                given.stream()
                    .filter(path -> !Files.exists(Path.of(path)))
                    .map(path -> path + " does not exist"))
            .toList();
    report.add(
        AREA,
        "device nodes",
        lacking.isEmpty() ? CheckStatus.OK : CheckStatus.DIFFERS,
        lacking.isEmpty()
            ? String.join(", ", given) + " are named, and exist"
            : String.join("; ", lacking) + "; a module may not be loaded yet (nvidia-modprobe -u)");
  }

  /**
   * Checks MIG devices under the strategy mixed.
   *
   * @param uuids the MIG devices that NVML lists
   */
  void mig(List<String> uuids) throws Exception {
    try (PluginRun run = PluginRun.start(options, false, "--mig-strategy=mixed")) {
      boolean listed = run.awaitDevices("nvidia.com/mig-");
      List<String> ids =
          run.kubelet().devices().entrySet().stream()
              .filter(resource -> resource.getKey().startsWith("nvidia.com/mig-"))
              .flatMap(resource -> resource.getValue().stream())
              .map(Device::getID)
              .toList();
      boolean ok = ids.size() == uuids.size() && uuids.containsAll(ids);
      report.add(
          AREA,
          "MIG devices, strategy mixed",
          ok ? CheckStatus.OK : CheckStatus.FAILED,
          listed
              ? "%d of %d MIG devices, as %s"
                  .formatted(ids.size(), uuids.size(), run.kubelet().devices().keySet())
              : noDevices(run));
    }
  }
}
