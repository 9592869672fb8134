package dev.tranche.nodeplugin.gpu;

import dev.tranche.api.Names;
import dev.tranche.nodeplugin.config.MigStrategy;
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
   * It can be carried out.
   *
   * @param devices GPUs in one piece and MIG devices, in NVML's order
   * @param warnings what the strategy finds odd about these GPUs
   */
  record Devices(List<GpuInfo> devices, List<String> warnings) implements MigPlan {
    public Devices {
      devices = List.copyOf(devices);
      warnings = List.copyOf(warnings);
    }
  }

  /** It cannot; the sentence says why and what to do. */
  record Invalid(String reason) implements MigPlan {}

  /**
   * Plans.
   *
   * @param found every GPU, and behind it its MIG devices
   */
  static MigPlan of(MigStrategy strategy, List<GpuInfo> found) {
    if (strategy == MigStrategy.NONE) {
      return new Devices(found.stream().filter(gpu -> gpu.part().isEmpty()).toList(), List.of());
    }
    List<GpuInfo> devices = found.stream().filter(gpu -> !(gpu.mig() instanceof Mig.Cut)).toList();
    List<String> warnings = new ArrayList<>();
    for (GpuInfo empty : empty(found)) {
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

  private static List<GpuInfo> empty(List<GpuInfo> found) {
    Set<String> parents = new HashSet<>();
    found.forEach(gpu -> gpu.part().ifPresent(part -> parents.add(part.parentUuid())));
    return found.stream()
        .filter(gpu -> gpu.mig() instanceof Mig.Cut && !parents.contains(gpu.uuid()))
        .toList();
  }

  private static MigPlan single(List<GpuInfo> devices) {
    List<GpuInfo> parts = devices.stream().filter(gpu -> gpu.part().isPresent()).toList();
    if (parts.stream().map(MigPlan::profile).distinct().count() > 1) {
      return new Invalid(
          "invalid MIG configuration: more than one MIG device type present on node; give all of"
              + " them one profile, or set migStrategy to mixed");
    }
    if (!parts.isEmpty() && parts.size() < devices.size()) {
      return new Invalid(
          "all devices on the node must be configured with the same migEnabled value; turn MIG on"
              + " or off on all of them, or set migStrategy to mixed");
    }
    return new Devices(devices, List.of());
  }

  /** Of a MIG device; empty for a GPU. */
  static String profile(GpuInfo device) {
    return device.part().map(Mig.Part::profile).orElse("");
  }

  /** The resource that an unshared device is. */
  static String resourceOf(MigStrategy strategy, ResourceNames names, GpuInfo device) {
    String profile = profile(device);
    if (profile.isEmpty()) {
      return names.ofGpu(device.model());
    }
    // A plus sign is not for resource names.
    String own = Names.RESOURCE.replaceFirst("gpu$", "mig-") + profile.replace('+', '.');
    return names.ofMig(profile).orElse(strategy == MigStrategy.MIXED ? own : Names.RESOURCE);
  }
}
