package dev.tranche.nodeplugin.gpu;

import dev.tranche.api.Names;
import dev.tranche.nodeplugin.config.Config.MigStrategy;
import dev.tranche.nodeplugin.config.ResourceNames;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Which devices a MIG strategy advertises, and under which resource; as NVIDIA's plugin does. */
final class MigPlan {
  private MigPlan() {}

  /**
   * Returns the devices in NVML's order; none if there is an error.
   *
   * @param found every GPU, followed by its MIG devices
   * @param warnings gets what the strategy finds with these GPUs
   * @param errors gets why the strategy does not fit, and what to do
   */
  static List<GpuInfo> devices(
      MigStrategy strategy, List<GpuInfo> found, List<String> warnings, List<String> errors) {
    if (strategy == MigStrategy.NONE) {
      return found.stream().filter(gpu -> gpu.migDevice().isEmpty()).toList();
    }
    List<GpuInfo> devices = found.stream().filter(gpu -> !(gpu.mig() instanceof Mig.On)).toList();
    List<String> empty =
        withoutMigDevices(found).stream()
            .map(gpu -> "device " + gpu.index() + " has no MIG devices configured")
            .toList();
    if (strategy == MigStrategy.MIXED) {
      warnings.addAll(empty);
      return devices;
    }
    Optional<String> misfit = misfitOfSingle(devices, empty);
    misfit.ifPresent(errors::add);
    return misfit.isPresent() ? List.of() : devices;
  }

  private static Optional<String> misfitOfSingle(List<GpuInfo> devices, List<String> empty) {
    if (!empty.isEmpty()) {
      return Optional.of(
          "invalid MIG configuration: at least one device with migEnabled=true was not configured"
              + " correctly: %s; create some (nvidia-smi mig -cgi), or turn MIG off on it"
                  .formatted(empty.getFirst()));
    }
    List<GpuInfo> migDevices = devices.stream().filter(gpu -> gpu.migDevice().isPresent()).toList();
    if (migDevices.stream().map(MigPlan::profile).distinct().count() > 1) {
      return Optional.of(
          "invalid MIG configuration: more than one MIG device type present on node; give all of"
              + " them one profile, or set migStrategy to mixed");
    }
    return migDevices.isEmpty() || migDevices.size() == devices.size()
        ? Optional.empty()
        : Optional.of(
            "all devices on the node must be configured with the same migEnabled value; turn MIG on"
                + " or off on all of them, or set migStrategy to mixed");
  }

  private static List<GpuInfo> withoutMigDevices(List<GpuInfo> found) {
    Set<String> parents = new HashSet<>();
    found.forEach(gpu -> gpu.migDevice().ifPresent(device -> parents.add(device.parentUuid())));
    return found.stream()
        .filter(gpu -> gpu.mig() instanceof Mig.On && !parents.contains(gpu.uuid()))
        .toList();
  }

  /** Returns the profile of a MIG device; empty for a GPU. */
  private static String profile(GpuInfo device) {
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
