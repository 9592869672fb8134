package dev.tranche.nodeplugin.gpu;

import dev.tranche.api.Names;
import dev.tranche.nodeplugin.config.Config.MigStrategy;
import dev.tranche.nodeplugin.config.ResourceNames;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Which devices a MIG strategy advertises, and under which resource; as NVIDIA's plugin does. */
public sealed interface MigPlan {
  /**
   * The strategy fits.
   *
   * @param devices whole GPUs and MIG devices, in NVML's order
   * @param warnings problems that the strategy finds with these GPUs
   */
  record Devices(List<GpuInfo> devices, List<String> warnings) implements MigPlan {
    public Devices {
      devices = List.copyOf(devices);
      warnings = List.copyOf(warnings);
    }
  }

  /** The strategy does not fit; the reason also says what to do. */
  record Invalid(String reason) implements MigPlan {}

  /**
   * Makes the plan.
   *
   * @param found every GPU, followed by its MIG devices
   */
  static MigPlan of(MigStrategy strategy, List<GpuInfo> found) {
    if (strategy == MigStrategy.NONE) {
      return new Devices(
          found.stream().filter(gpu -> gpu.migDevice().isEmpty()).toList(), List.of());
    }
    List<GpuInfo> devices = found.stream().filter(gpu -> !(gpu.mig() instanceof Mig.On)).toList();
    List<String> warnings = new ArrayList<>();
    for (GpuInfo empty : withoutMigDevices(found)) {
      String what = "device " + empty.index() + " has no MIG devices configured";
      if (strategy == MigStrategy.SINGLE) {
        return new Invalid(
            "invalid MIG configuration: at least one device with migEnabled=true was not configured"
                + " correctly: "
                + what
                + "; create some (nvidia-smi mig -cgi), or turn MIG off on it");
      }
      warnings.add(what);
    }
    return strategy == MigStrategy.SINGLE
        ? single(devices)
        : new Devices(devices, List.copyOf(warnings));
  }

  private static List<GpuInfo> withoutMigDevices(List<GpuInfo> found) {
    Set<String> parents = new HashSet<>();
    found.forEach(gpu -> gpu.migDevice().ifPresent(device -> parents.add(device.parentUuid())));
    return found.stream()
        .filter(gpu -> gpu.mig() instanceof Mig.On && !parents.contains(gpu.uuid()))
        .toList();
  }

  private static MigPlan single(List<GpuInfo> devices) {
    List<GpuInfo> migDevices = devices.stream().filter(gpu -> gpu.migDevice().isPresent()).toList();
    if (migDevices.stream().map(MigPlan::profile).distinct().count() > 1) {
      return new Invalid(
          "invalid MIG configuration: more than one MIG device type present on node; give all of"
              + " them one profile, or set migStrategy to mixed");
    }
    if (!migDevices.isEmpty() && migDevices.size() < devices.size()) {
      return new Invalid(
          "all devices on the node must be configured with the same migEnabled value; turn MIG on"
              + " or off on all of them, or set migStrategy to mixed");
    }
    return new Devices(devices, List.of());
  }

  /** Returns the profile of a MIG device; empty for a GPU. */
  static String profile(GpuInfo device) {
    return device.migDevice().map(Mig.Device::profile).orElse("");
  }

  /** Returns the resource name of an unshared device. */
  static String resourceOf(MigStrategy strategy, ResourceNames names, GpuInfo device) {
    String profile = profile(device);
    if (profile.isEmpty()) {
      return names.ofGpu(device.model());
    }
    // A resource name cannot have a plus sign.
    String own = Names.RESOURCE.replaceFirst("gpu$", "mig-") + profile.replace('+', '.');
    return names.ofMig(profile).orElse(strategy == MigStrategy.MIXED ? own : Names.RESOURCE);
  }
}
