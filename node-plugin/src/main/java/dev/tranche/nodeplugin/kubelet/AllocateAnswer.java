package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.kubelet.CDIDevice;
import dev.tranche.api.kubelet.ContainerAllocateResponse;
import dev.tranche.api.kubelet.DeviceSpec;
import dev.tranche.api.kubelet.Mount;
import dev.tranche.nodeplugin.config.AllocateOptions;
import dev.tranche.nodeplugin.config.AllocateOptions.DeviceListStrategy;
import dev.tranche.nodeplugin.gpu.HostNodes;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import java.util.ArrayList;
import java.util.List;

/**
 * Builds exactly the answer that NVIDIA's plugin gives to an Allocate: environment, mounts, device
 * nodes and CDI devices, as the device list strategies require.
 *
 * @param answerId the part of an annotation's key that is unique to each answer
 */
record AllocateAnswer(AllocateOptions options, HostNodes nodes, String answerId) {
  private static final String VISIBLE_DEVICES = "NVIDIA_VISIBLE_DEVICES";
  private static final String IMEX_CHANNELS = "NVIDIA_IMEX_CHANNELS";
  private static final String MOUNTS_ROOT = "/var/run/nvidia-container-devices";
  private static final String DEV_NULL = "/dev/null";
  private static final String CDI_ANNOTATION = "nvidia-device-plugin_";

  /**
   * Builds the answer.
   *
   * @param gpus the GPU of each replica, in the kubelet's order
   */
  ContainerAllocateResponse.Builder of(List<GpuInfo> gpus) {
    var answer = ContainerAllocateResponse.newBuilder();
    List<String> ids = gpus.stream().map(this::id).distinct().toList();
    addCdi(answer, ids);
    options.additional().forEach(of -> answer.putEnvs("NVIDIA_" + of.name(), "enabled"));
    if (!options.deviceListStrategies().stream().allMatch(DeviceListStrategy::cdi)) {
      addVisible(answer, ids);
      if (options.passDeviceSpecs()) {
        addNodes(answer, gpus);
      }
    }
    return answer;
  }

  private String id(GpuInfo gpu) {
    return options.byIndex() ? gpu.number() : gpu.uuid();
  }

  private boolean hasStrategy(DeviceListStrategy strategy) {
    return options.deviceListStrategies().contains(strategy);
  }

  private void addCdi(ContainerAllocateResponse.Builder answer, List<String> ids) {
    List<String> names = new ArrayList<>();
    ids.forEach(id -> names.add(qualified("gpu", id)));
    if (nodes.givesImexChannel(options)) {
      names.add(qualified("imex-channel", "0"));
    }
    nodes.additional(options).forEach(of -> names.add(qualified(of.text(), "all")));
    if (hasStrategy(DeviceListStrategy.CDI_ANNOTATIONS)) {
      String key = options.cdiAnnotationPrefix() + CDI_ANNOTATION + answerId;
      answer.putAnnotations(key, String.join(",", names));
    }
    if (hasStrategy(DeviceListStrategy.CDI_CRI)) {
      names.forEach(name -> answer.addCdiDevices(CDIDevice.newBuilder().setName(name)));
    }
  }

  private static String qualified(String name, String device) {
    return AllocateOptions.CDI_VENDOR + "/" + name + "=" + device;
  }

  private void addVisible(ContainerAllocateResponse.Builder answer, List<String> ids) {
    boolean imex = nodes.givesImexChannel(options);
    if (hasStrategy(DeviceListStrategy.ENVVAR)) {
      answer.putEnvs(VISIBLE_DEVICES, String.join(",", ids));
      if (imex) {
        answer.putEnvs(IMEX_CHANNELS, "0");
      }
    }
    if (hasStrategy(DeviceListStrategy.VOLUME_MOUNTS)) {
      answer.putEnvs(VISIBLE_DEVICES, MOUNTS_ROOT);
      ids.forEach(id -> answer.addMounts(mount(MOUNTS_ROOT + "/" + id)));
      if (imex) {
        answer.addMounts(mount(MOUNTS_ROOT + "/imex/0"));
      }
    }
  }

  private static Mount mount(String at) {
    return Mount.newBuilder().setHostPath(DEV_NULL).setContainerPath(at).build();
  }

  // NVIDIA's plugin names a GPU's device node once per replica; the kubelet keeps one of them.
  private void addNodes(ContainerAllocateResponse.Builder answer, List<GpuInfo> gpus) {
    nodes.control().forEach(node -> answer.addDevices(device(node)));
    gpus.forEach(gpu -> gpu.nodes().forEach(node -> answer.addDevices(device(node))));
    if (nodes.givesImexChannel(options)) {
      answer.addDevices(device(HostNodes.IMEX_NODE));
    }
  }

  private DeviceSpec device(String node) {
    return DeviceSpec.newBuilder()
        .setContainerPath(node)
        .setHostPath(nodes.devRoot(options) + node)
        .setPermissions("rw")
        .build();
  }
}
