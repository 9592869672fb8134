package dev.tranche.nodeplugin.gpu;

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
import org.jspecify.annotations.Nullable;

/**
 * The GPUs and MIG devices that NVML has shown so far, and where each is in this session of NVML. A
 * GPU outlives a session: it may return at another index. Confined to the thread that talks to
 * NVML.
 */
final class KnownGpus {
  private final Map<String, GpuStatus> gpus = new LinkedHashMap<>();
  // By uuid: the GPUs of this session, at their indexes in it.
  private final Map<String, Integer> present = new LinkedHashMap<>();
  // Of this session: GPUs that told their MIG devices.
  private final Set<String> partsTold = new HashSet<>();

  List<GpuStatus> all() {
    return List.copyOf(gpus.values());
  }

  boolean isEmpty() {
    return gpus.isEmpty();
  }

  @Nullable GpuStatus get(String uuid) {
    return gpus.get(uuid);
  }

  /** Replaces one that is known. */
  void put(GpuStatus gpu) {
    gpus.put(gpu.info().uuid(), gpu);
  }

  void replaceAll(UnaryOperator<GpuStatus> change) {
    gpus.replaceAll((uuid, gpu) -> change.apply(gpu));
  }

  boolean anyLost() {
    return gpus.values().stream().anyMatch(gpu -> gpu.health() instanceof Health.Lost);
  }

  Set<String> uuids() {
    return Set.copyOf(gpus.keySet());
  }

  /** UUID to index, of this session. */
  Map<String, Integer> present() {
    return present;
  }

  Stream<GpuStatus> presentWhole() {
    return gpus.values().stream()
        .filter(gpu -> present.containsKey(gpu.info().uuid()) && !isPart(gpu));
  }

  int index(GpuInfo gpu) {
    return present.getOrDefault(gpu.uuid(), gpu.index());
  }

  List<GpuInfo> partsOf(GpuInfo gpu) {
    return gpus.values().stream()
        .map(GpuStatus::info)
        .filter(other -> isPartOf(gpu.uuid(), other))
        .toList();
  }

  /** A new listing begins: nothing is present yet. */
  void clearPresent() {
    present.clear();
    partsTold.clear();
  }

  void found(GpuInfo info, int index) {
    GpuStatus known = gpus.get(info.uuid());
    Health health = known == null ? Health.good() : known.health();
    gpus.put(info.uuid(), new GpuStatus(info, health, known == null ? null : known.load()));
    present.put(info.uuid(), index);
  }

  /** This GPU has told all of its MIG devices. */
  void partsTold(GpuInfo gpu) {
    partsTold.add(gpu.uuid());
  }

  /** The listing is complete: what was not found is gone. */
  void listed() {
    gpus.values().removeIf(this::removed);
    replaceAll(
        gpu ->
            present.containsKey(gpu.info().uuid()) ? gpu : gpu.gone("NVML lists this GPU no more"));
    sort();
  }

  /** A MIG device that its GPU no longer names does not get lost: somebody has removed it. */
  private boolean removed(GpuStatus gpu) {
    return !present.containsKey(gpu.info().uuid())
        && gpu.info().part().filter(part -> partsTold.contains(part.parentUuid())).isPresent();
  }

  /** Puts new MIG devices behind their GPU, where a restart would find them. */
  private void sort() {
    List<GpuStatus> parts = gpus.values().stream().filter(KnownGpus::isPart).toList();
    if (parts.isEmpty()) {
      return;
    }
    Map<String, GpuStatus> sorted = new LinkedHashMap<>();
    for (GpuStatus gpu : gpus.values()) {
      if (!isPart(gpu)) {
        sorted.put(gpu.info().uuid(), gpu);
        parts.stream()
            .filter(part -> isPartOf(gpu.info().uuid(), part.info()))
            .sorted(Comparator.comparingInt(KnownGpus::place))
            .forEach(part -> sorted.put(part.info().uuid(), part));
      }
    }
    gpus.clear();
    gpus.putAll(sorted);
  }

  private static boolean isPart(GpuStatus gpu) {
    return gpu.info().part().isPresent();
  }

  private static boolean isPartOf(String uuid, GpuInfo gpu) {
    return gpu.part().filter(part -> part.parentUuid().equals(uuid)).isPresent();
  }

  private static int place(GpuStatus gpu) {
    return gpu.info().part().map(Mig.Part::index).orElse(0);
  }
}
