package dev.tranche.nodeplugin.gpu;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toList;
import static java.util.stream.Collectors.toSet;

import dev.tranche.api.RequestBounds;
import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.config.Sharing.DeviceSelection;
import dev.tranche.nodeplugin.config.Sharing.SharedResource;
import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Goes through a config's entries, each of which claims GPUs; a GPU has one claim at most. */
final class SharingPlanner {
  private final Config config;
  // Those that the MIG strategy advertises.
  private final List<GpuInfo> gpus;
  private final Map<String, SharedResource> claims = new LinkedHashMap<>();
  private final List<String> warnings = new ArrayList<>();
  private final List<String> errors = new ArrayList<>();

  /**
   * @param found in NVML's order, each GPU followed by its MIG devices
   */
  SharingPlanner(Config config, List<GpuInfo> found) {
    this.config = config;
    this.gpus = MigPlan.devices(config.migStrategy(), found, warnings, errors);
  }

  SharingPlan plan() {
    config.sharing().resources().forEach(this::claim);
    Map<String, GpuSharing> byUuid = new HashMap<>();
    gpus.forEach(gpu -> byUuid.put(gpu.uuid(), sharing(gpu)));
    byUuid.values().stream()
        .collect(groupingBy(GpuSharing::resource, TreeMap::new, toList()))
        .forEach(this::checkResource);
    checkTotal(byUuid);
    return errors.isEmpty()
        ? new SharingPlan.Fits(byUuid, warnings)
        : new SharingPlan.DoesNotFit(String.join("; ", errors));
  }

  private GpuSharing sharing(GpuInfo gpu) {
    SharedResource claim = claims.get(gpu.uuid());
    return claim == null ? GpuSharing.unshared(unsharedResource(gpu)) : GpuSharing.of(claim);
  }

  private String unsharedResource(GpuInfo gpu) {
    return MigPlan.resourceOf(config.migStrategy(), config.resources(), gpu);
  }

  private static Set<String> names(GpuInfo gpu) {
    return Set.of(gpu.number(), gpu.uuid());
  }

  private void claim(SharedResource entry) {
    List<GpuInfo> all =
        gpus.stream().filter(gpu -> unsharedResource(gpu).equals(entry.name())).toList();
    for (int i = 0; i < all.size(); i++) {
      if (entry.devices().selects(i, names(all.get(i)))) {
        claim(entry, all.get(i));
      }
    }
    if (!gpus.isEmpty()) {
      warnOfMissing(entry, all);
    }
  }

  private void claim(SharedResource entry, GpuInfo gpu) {
    if (entry.strategy() == SharingStrategy.MPS) {
      checkMps(entry, gpu);
    }
    SharedResource other = claims.putIfAbsent(gpu.uuid(), entry);
    if (other != null) {
      errors.add(
          "GPU %s (%s) is in %s and in %s; give each of them its own devices"
              .formatted(gpu.number(), gpu.uuid(), other.at(), entry.at()));
    }
  }

  private void checkMps(SharedResource entry, GpuInfo gpu) {
    if (gpu.migDevice().isPresent() && entry.replicas() > 1) {
      errors.add(
          "%s: sharing using MPS is not supported for MIG devices, and %s (%s) is one; use timeSlicing"
              .formatted(entry.at(), gpu.number(), gpu.uuid()));
    }
    int most = gpu.mpsClientsMax();
    if (entry.replicas() > most) {
      errors.add(
          "%s.replicas is %d, but GPU %d (%s, %s) takes %d MPS clients (48 since Volta, 16 before); lower replicas to %d"
              .formatted(
                  entry.at(), entry.replicas(), gpu.index(), gpu.model(), gpu.uuid(), most, most));
    }
    if (gpu.memoryTotalBytes() == 0) {
      warnings.add(
          "NVML does not report the memory of GPU %d (%s, %s): its MPS clients have no memory limit"
              .formatted(gpu.index(), gpu.model(), gpu.uuid()));
    }
  }

  // A lost GPU must not make the config unusable for the others, so a missing GPU is no error.
  private void warnOfMissing(SharedResource entry, List<GpuInfo> all) {
    Set<String> names = new HashSet<>();
    all.forEach(gpu -> names.addAll(names(gpu)));
    String there = " there are " + all.size() + " GPUs that are " + entry.name();
    switch (entry.devices()) {
      case DeviceSelection.All ignored when all.isEmpty() ->
          warnings.add(entry.at() + " shares nothing:" + there);
      case DeviceSelection.All ignored -> {}
      case DeviceSelection.Count(int count) when count > all.size() ->
          warnings.add(entry.at() + ".devices is " + count + ", but" + there);
      case DeviceSelection.Count ignored -> {}
      case DeviceSelection.Listed(List<String> refs) ->
          refs.stream()
              .filter(ref -> !names.contains(ref))
              .forEach(
                  ref -> warnings.add(entry.at() + ".devices has " + ref + ", but" + list(all)));
    }
  }

  private static String list(List<GpuInfo> gpus) {
    return gpus.stream()
        .map(gpu -> gpu.number() + " (" + gpu.uuid() + ")")
        .collect(joining(", ", " there are only: ", ""));
  }

  private void checkResource(String resource, List<GpuSharing> gpus) {
    Set<SharingStrategy> used = gpus.stream().map(GpuSharing::strategy).collect(toSet());
    long modes =
        gpus.stream()
            .filter(GpuSharing::shared)
            .map(GpuSharing::failRequestsGreaterThanOne)
            .distinct()
            .count();
    if (used.contains(SharingStrategy.MPS) && used.contains(SharingStrategy.TIME_SLICING)) {
      errors.add(
          resource
              + " has replicas by MPS and by time-slicing; set rename on one of them, which needs"
              + " config.nvidiaCompatible=extended, or keep one of the two");
    } else if (modes > 1) {
      errors.add(
          "failRequestsGreaterThanOne is true and false for "
              + resource
              + "; set rename, or make them equal");
    } else if (used.size() > 1) {
      warnings.add(
          resource
              + " is replicas and whole GPUs; set rename or renameByDefault to distinguish them");
    }
  }

  private void checkTotal(Map<String, GpuSharing> byUuid) {
    long total = byUuid.values().stream().mapToLong(GpuSharing::replicas).sum();
    if (total > RequestBounds.REPLICAS_MAX) {
      errors.add(
          "%d GPUs have %d replicas together, and a node can have %d; lower replicas to %d per GPU"
              .formatted(
                  gpus.size(),
                  total,
                  RequestBounds.REPLICAS_MAX,
                  RequestBounds.REPLICAS_MAX / gpus.size()));
    }
  }
}
