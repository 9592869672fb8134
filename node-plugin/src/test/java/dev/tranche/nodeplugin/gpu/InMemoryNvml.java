package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.nvml.Gpm;
import dev.tranche.nodeplugin.nvml.GpuEvent;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.GpuProcess;
import dev.tranche.nodeplugin.nvml.GpuReading;
import dev.tranche.nodeplugin.nvml.Mig;
import dev.tranche.nodeplugin.nvml.Nvml;
import dev.tranche.nodeplugin.nvml.NvmlException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** NVML as a list of uuids; a "-" in front: lost; a "?": fails with an unknown error. */
final class InMemoryNvml implements Nvml {
  static final int LOST = 15;
  static final int UNINITIALIZED = 1;
  static final int UNKNOWN_ERROR = 999;

  List<String> uuids = new ArrayList<>(List.of("GPU-a", "GPU-b"));
  final Deque<GpuEvent> events = new ArrayDeque<>();
  // By uuid of their GPU, which has MIG on.
  final Map<String, List<String>> migDevices = new HashMap<>();
  // Why MIG devices of any GPU are left out.
  final List<String> unnamedMigDevices = new ArrayList<>();
  String driver = "1";
  long eccErrors;
  boolean gone;
  boolean reportsErrors = true;
  int waitCode;
  int watchCode;
  int waits;
  final Set<String> watched = new HashSet<>();
  // Says who it is, but not its load.
  String unreadable = "";
  final List<String> queried = new ArrayList<>();

  String uuid(int index) {
    if (gone) {
      throw new NvmlException(UNINITIALIZED, "Uninitialized");
    }
    if (uuids.get(index).startsWith("-")) {
      throw new NvmlException(LOST, "GPU is lost");
    }
    if (uuids.get(index).startsWith("?")) {
      throw new NvmlException(UNKNOWN_ERROR, "Unknown Error");
    }
    return uuids.get(index);
  }

  @Override
  public String driverVersion() {
    return driver;
  }

  @Override
  public int count() {
    if (gone) {
      throw new NvmlException(UNINITIALIZED, "Uninitialized");
    }
    return uuids.size();
  }

  @Override
  public GpuInfo info(int index) {
    String uuid = uuid(index);
    return gpu(index, uuid, migDevices.containsKey(uuid) ? Mig.ON : Mig.OFF);
  }

  private static GpuInfo gpu(int index, String uuid, Mig mig) {
    return new GpuInfo(index, uuid, "Tesla T4", index, "", 100, 0, -1, 8, mig);
  }

  @Override
  public List<GpuInfo> migDevices(GpuInfo gpu, Consumer<String> leftOut) {
    unnamedMigDevices.forEach(leftOut);
    List<String> names = migDevices.getOrDefault(gpu.uuid(), List.of());
    return IntStream.range(0, names.size())
        .mapToObj(
            i -> {
              Mig mig = new Mig.Device(i, gpu.uuid(), "1g.5gb", i, 0, List.of());
              return gpu(gpu.index(), names.get(i), mig);
            })
        .toList();
  }

  @Override
  public GpuReading readMig(int index, int mig) {
    return read(index);
  }

  @Override
  public GpuReading read(int index) {
    if (uuid(index).equals(unreadable)) {
      throw new NvmlException(UNKNOWN_ERROR, "Unknown Error");
    }
    return new GpuReading(index, 0, 0, 40, 1, 0, eccErrors, Gpm.UNKNOWN);
  }

  @Override
  public List<GpuProcess> processes(int index) {
    queried.add("GPU " + index);
    return List.of();
  }

  @Override
  public List<GpuProcess> migProcesses(int index, int mig) {
    queried.add("MIG device " + index + ":" + mig);
    return List.of();
  }

  @Override
  public void unwatchAll() {
    watched.clear();
  }

  @Override
  public boolean watch(int index) {
    if (watchCode != 0) {
      throw new NvmlException(watchCode, "cannot be watched");
    }
    watched.add(uuid(index));
    return reportsErrors;
  }

  @Override
  public Optional<GpuEvent> awaitEvent(int timeoutMs) {
    waits++;
    if (waitCode != 0) {
      throw new NvmlException(waitCode, "waiting failed");
    }
    if (events.isEmpty() && uuids.stream().anyMatch(uuid -> watched.contains(uuid.substring(1)))) {
      throw new NvmlException(LOST, "GPU is lost");
    }
    return Optional.ofNullable(events.poll());
  }

  @Override
  public void close() {}
}
