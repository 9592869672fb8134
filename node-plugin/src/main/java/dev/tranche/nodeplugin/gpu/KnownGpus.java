package dev.tranche.nodeplugin.gpu;

import static java.util.stream.Collectors.toMap;

import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * The GPUs and MIG devices that NVML has shown so far, and which of them the last listing has. A
 * GPU outlives a session of NVML: it may return at another index, which is then in its properties.
 * Confined to the thread that calls NVML.
 */
final class KnownGpus {
  private final Map<String, GpuStatus> gpus = new LinkedHashMap<>();
  // By uuid.
  private final Set<String> present = new HashSet<>();
  // GPUs whose MIG devices the current listing has.
  private final Set<String> migDevicesListed = new HashSet<>();

  List<GpuStatus> all() {
    return List.copyOf(gpus.values());
  }

  boolean isEmpty() {
    return gpus.isEmpty();
  }

  /** Replaces the status of a known GPU. */
  void put(GpuStatus gpu) {
    gpus.put(gpu.info().uuid(), gpu);
  }

  void replaceAll(UnaryOperator<GpuStatus> change) {
    gpus.replaceAll((uuid, gpu) -> change.apply(gpu));
  }

  boolean anyLost() {
    return gpus.values().stream().anyMatch(gpu -> gpu.health() instanceof Health.Lost);
  }

  /** Returns how many GPUs are known, also lost ones; MIG devices do not count. */
  int gpuCount() {
    return (int) gpus.values().stream().filter(gpu -> !isMigDevice(gpu)).count();
  }

  Set<String> uuids() {
    return Set.copyOf(gpus.keySet());
  }

  boolean isPresent(GpuStatus gpu) {
    return present.contains(gpu.info().uuid());
  }

  /** Returns the GPUs that are present, without MIG devices. */
  Stream<GpuStatus> presentGpus() {
    return gpus.values().stream().filter(gpu -> isPresent(gpu) && !isMigDevice(gpu));
  }

  /** Returns the index of each GPU and MIG device that is present, by uuid. */
  Map<String, Integer> presentIndexes() {
    return gpus.values().stream()
        .filter(this::isPresent)
        .map(GpuStatus::info)
        .collect(toMap(GpuInfo::uuid, GpuInfo::index));
  }

  List<GpuInfo> migDevicesOf(GpuInfo gpu) {
    return gpus.values().stream()
        .map(GpuStatus::info)
        .filter(other -> other.migDevice().isPresent() && other.gpuUuid().equals(gpu.uuid()))
        .toList();
  }

  /** Begins a new listing: no GPU is present yet. */
  void startListing() {
    present.clear();
    migDevicesListed.clear();
  }

  void add(GpuInfo info) {
    var unknown = new GpuStatus(info, new Health.Healthy(), null);
    GpuStatus known = gpus.getOrDefault(info.uuid(), unknown);
    put(new GpuStatus(info, known.health(), known.load()));
    present.add(info.uuid());
  }

  /** Records that all MIG devices of this GPU were listed. */
  void migDevicesListed(GpuInfo gpu) {
    migDevicesListed.add(gpu.uuid());
  }

  /** Completes the listing: what was not found is gone. */
  void finishListing() {
    gpus.values().removeIf(this::removed);
    replaceAll(gpu -> isPresent(gpu) ? gpu : gpu.asLost("NVML no longer lists this GPU"));
    sort();
  }

  /**
   * Returns whether a MIG device was removed by somebody rather than lost: its GPU no longer names
   * it.
   */
  private boolean removed(GpuStatus gpu) {
    return !isPresent(gpu) && isMigDevice(gpu) && migDevicesListed.contains(gpu.info().gpuUuid());
  }

  /** Puts new MIG devices after their GPU, which is the order that a restart would find. */
  private void sort() {
    List<String> order = List.copyOf(gpus.keySet());
    List<GpuStatus> sorted =
        gpus.values().stream()
            .sorted(
                Comparator.comparingInt((GpuStatus gpu) -> order.indexOf(gpu.info().gpuUuid()))
                    .thenComparingInt(KnownGpus::migIndex))
            .toList();
    gpus.clear();
    sorted.forEach(this::put);
  }

  private static boolean isMigDevice(GpuStatus gpu) {
    return gpu.info().migDevice().isPresent();
  }

  /** Returns its number on its GPU, which itself is before all of them. */
  private static int migIndex(GpuStatus gpu) {
    return gpu.info().migDevice().map(Mig.Device::index).orElse(-1);
  }
}
