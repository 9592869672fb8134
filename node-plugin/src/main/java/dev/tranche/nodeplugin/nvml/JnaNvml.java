package dev.tranche.nodeplugin.nvml;

import com.sun.jna.Memory;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import dev.tranche.process.loop.MonotonicClock;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/** Calls NVML through JNA. All calls reuse one block of native memory. */
public final class JnaNvml implements AdminNvml {
  private static final int SCRATCH_BYTES = 256;
  private static final int TEXT_BYTES = 96;
  private static final String UTF_8 = "UTF-8";
  private static final int BUSY_PERCENT = 100;
  private static final int MIG_ENABLED = 1;

  // nvmlPciInfo_t
  private static final int PCI_BUS_ID_OFFSET = 36;
  // nvmlMemory_t: total, free, used. nvmlMemory_v2_t: version, total, reserved, free, used.
  private static final int MEMORY_USED_OFFSET = 16;
  private static final int MEMORY_V2_VERSION = 40 | 2 << 24;
  private static final int MEMORY_V2_TOTAL_OFFSET = 8;
  private static final int MEMORY_V2_RESERVED_OFFSET = 16;
  private static final int MEMORY_V2_USED_OFFSET = 32;
  // nvmlDeviceAddressingMode_t: version, value.
  private static final int ADDRESSING_VERSION = 8 | 1 << 24;
  private static final int ADDRESSING_VALUE_OFFSET = 4;
  private static final int ADDRESSING_ATS = 2;
  // nvmlEventData_t: device, eventType, eventData, gpuInstanceId, computeInstanceId
  private static final int EVENT_TYPE_OFFSET = 8;
  private static final int EVENT_DATA_OFFSET = 16;
  private static final int EVENT_GPU_INSTANCE_OFFSET = 24;
  private static final int EVENT_COMPUTE_INSTANCE_OFFSET = 28;
  private static final long EVENT_DOUBLE_BIT_ECC = 2;
  private static final long EVENT_XID = 8;
  private static final long EVENTS = EVENT_XID | EVENT_DOUBLE_BIT_ECC;

  private final Memory scratch = new Memory(SCRATCH_BYTES);
  private final NvmlFunctions functions;
  // Index by handle in this session. A GPU that is gone no longer gives its handle.
  private final Map<Long, Integer> watched = new HashMap<>();
  // 0 until a GPU is watched.
  private long eventSet;
  private final NvmlLinks links;
  private final NativeLibrary library;
  private final NvmlTelemetry telemetry;
  private final NvmlGpm gpm;
  private final NvmlLimits limits;

  private JnaNvml(NvmlFunctions functions, NativeLibrary library, LongSupplier clockMs) {
    this.functions = functions;
    this.links = new NvmlLinks(functions);
    this.library = library;
    this.telemetry = new NvmlTelemetry(functions);
    this.gpm = new NvmlGpm(functions, clockMs);
    this.limits = new NvmlLimits(functions);
  }

  /**
   * Loads and starts NVML. Only one may be open at a time, since closing one unloads the library of
   * both. If NVML does not start, the library is unloaded. So retries leak nothing, and can load
   * another driver's library.
   *
   * @param driverRoot where the driver's root is mounted in this container
   */
  public static JnaNvml open(Path driverRoot) {
    return open(driverRoot, MonotonicClock::ms);
  }

  static JnaNvml open(Path driverRoot, LongSupplier clockMs) {
    NativeLibrary library = NvmlLibrary.load(driverRoot);
    try {
      NvmlFunctions functions = new NvmlFunctions(library);
      int result = functions.call("nvmlInit_v2");
      if (result != NvmlCode.SUCCESS) {
        throw functions.failure(result, "NVML cannot start", NvmlCode.startAdvice(result));
      }
      return new JnaNvml(functions, library, clockMs);
    } catch (NvmlException e) {
      library.close();
      throw e;
    }
  }

  @Override
  public String driverVersion() {
    return functions.supports(
            "NVML does not return the driver's version",
            "nvmlSystemGetDriverVersion",
            scratch,
            TEXT_BYTES)
        ? scratch.getString(0, UTF_8)
        : "unknown";
  }

  @Override
  public int count() {
    functions.check("NVML does not count its GPUs", "nvmlDeviceGetCount_v2", scratch);
    return scratch.getInt(0);
  }

  @Override
  public GpuInfo info(int index) {
    long device = handle(index);
    String pci = pciBusId(index, device);
    String uuid = uuid(index, device);
    String model = model(index, device);
    int minor =
        number("GPU " + index + " returns no minor number", "nvmlDeviceGetMinorNumber", device);
    GpuMemory memory = unlimited(memory(index, device), device);
    return new GpuInfo(
        index,
        uuid,
        model,
        minor,
        memory.totalBytes(),
        memory.reservedBytes(),
        NumaNodes.of(Path.of("/sys"), pci),
        computeMajor(device),
        migEnabled(device) ? Mig.ON : Mig.OFF);
  }

  /** Returns whether MIG is on; also false for GPUs without MIG. */
  private boolean migEnabled(long device) {
    return functions.succeeds("nvmlDeviceGetMigMode", device, scratch, scratch.share(Integer.BYTES))
        && scratch.getInt(0) == MIG_ENABLED;
  }

  private String text(String what, String function, long device) {
    functions.check(what, function, device, scratch, TEXT_BYTES);
    return scratch.getString(0, UTF_8);
  }

  private String uuid(int index, long device) {
    return text("GPU " + index + " returns no uuid", "nvmlDeviceGetUUID", device);
  }

  private String model(int index, long device) {
    return text("GPU " + index + " returns no product name", "nvmlDeviceGetName", device);
  }

  private int number(String what, String function, long device) {
    functions.check(what, function, device, scratch);
    return scratch.getInt(0);
  }

  @Override
  public List<GpuInfo> migDevices(GpuInfo gpu, Consumer<String> leftOut) {
    List<GpuInfo> migDevices = new ArrayList<>();
    if (gpu.mig() instanceof Mig.On) {
      long device = handle(gpu.index());
      MigCaps caps = MigCaps.read(Path.of("/proc"));
      int maxDevices =
          functions.succeeds("nvmlDeviceGetMaxMigDeviceCount", device, scratch)
              ? scratch.getInt(0)
              : 0;
      for (int migIndex = 0; migIndex < maxDevices; migIndex++) {
        OptionalLong handle = findMig(device, migIndex);
        if (handle.isPresent()) {
          try {
            migDevices.add(migDevice(gpu, migIndex, handle.getAsLong(), caps));
          } catch (NvmlException e) {
            // A device that is missing here counts as removed, so a passing failure must be seen.
            if (!e.unsupported()) {
              throw e;
            }
            leftOut.accept(e.getMessage());
          }
        }
      }
    }
    return migDevices;
  }

  private GpuInfo migDevice(GpuInfo gpu, int migIndex, long migDevice, MigCaps caps) {
    int index = gpu.index();
    String name = "MIG device " + index + ":" + migIndex;
    int gpuInstance =
        number(name + " returns no GPU instance", "nvmlDeviceGetGpuInstanceId", migDevice);
    int computeInstance =
        number(name + " returns no compute instance", "nvmlDeviceGetComputeInstanceId", migDevice);
    String model = model(index, migDevice);
    String profile = MigProfile.of(model);
    List<String> nodes = caps.nodes(gpu.minor(), gpuInstance, computeInstance);
    String uuid = uuid(index, migDevice);
    GpuMemory memory = memory(index, migDevice);
    return new GpuInfo(
        index,
        uuid,
        model,
        gpu.minor(),
        memory.totalBytes(),
        memory.reservedBytes(),
        gpu.numaNode(),
        gpu.computeMajor(),
        new Mig.Device(migIndex, gpu.uuid(), profile, gpuInstance, computeInstance, nodes));
  }

  @Override
  public GpuReading readMig(int index, int migIndex) {
    long migDevice = migHandle(index, migIndex);
    int processes = processes(index, migDevice);
    Gpm values = gpm.read("MIG device " + index + ":" + migIndex, migDevice);
    return new GpuReading(
        memory(index, migDevice).usedBytes(), busyPercent(processes, values), processes, values);
  }

  /**
   * Returns the part of the time in which a kernel ran, where NVML has no utilization: for MIG
   * devices and some GPUs. GPM tells it, too. Without that, a device with a process counts as busy.
   */
  private static int busyPercent(int processes, Gpm gpm) {
    return Double.isNaN(gpm.graphicsPercent())
        ? processes > 0 ? BUSY_PERCENT : 0
        : (int) Math.round(gpm.graphicsPercent());
  }

  /** Returns the handle of a MIG device; empty if there is none at this index. */
  private OptionalLong findMig(long device, int migIndex) {
    return functions.succeeds("nvmlDeviceGetMigDeviceHandleByIndex", device, migIndex, scratch)
        ? OptionalLong.of(scratch.getLong(0))
        : OptionalLong.empty();
  }

  private long migHandle(int index, int migIndex) {
    return findMig(handle(index), migIndex)
        .orElseThrow(
            () ->
                new NvmlException(
                    NvmlCode.NOT_FOUND, "MIG device " + index + ":" + migIndex + " is gone"));
  }

  @Override
  public List<GpuProcess> migProcesses(int index, int migIndex) {
    return telemetry.migProcesses(migHandle(index, migIndex));
  }

  @Override
  public Optional<MemoryLimit> memoryLimit(int index, Path cgroup) {
    return limits.get("GPU " + index, handle(index), cgroup);
  }

  @Override
  public GpuLink link(int index, int other) {
    return links.between(handle(index), handle(other));
  }

  /**
   * Returns 0 where the driver does not say; callers then assume the oldest. Overwrites the
   * scratch.
   */
  private int computeMajor(long device) {
    return functions.succeeds(
            "nvmlDeviceGetCudaComputeCapability", device, scratch, scratch.share(Integer.BYTES))
        ? scratch.getInt(0)
        : 0;
  }

  @Override
  public int computeMode(int index) {
    return number(
        "GPU " + index + " returns no compute mode", "nvmlDeviceGetComputeMode", handle(index));
  }

  @Override
  public void computeMode(int index, int mode) {
    functions.check(
        "GPU " + index + " does not take compute mode " + mode,
        "nvmlDeviceSetComputeMode",
        handle(index),
        mode);
  }

  @Override
  public GpuReading read(int index) {
    long device = handle(index);
    GpuMemory memory = memory(index, device);
    int processes = processes(index, device);
    Gpm values = gpm.read("GPU " + index, device);
    return new GpuReading(
        memory.usedBytes(),
        smPercent(index, device, processes, values),
        processes,
        telemetry.temperatureCelsius(device),
        telemetry.powerMilliwatts(device),
        telemetry.throttling(device),
        telemetry.eccUncorrected(device),
        values);
  }

  private int smPercent(int index, long device, int processes, Gpm values) {
    return functions.supports(
            "GPU " + index + " returns no utilization",
            "nvmlDeviceGetUtilizationRates",
            device,
            scratch)
        ? Math.clamp(scratch.getInt(0), 0, 100)
        : busyPercent(processes, values);
  }

  @Override
  public List<GpuProcess> processes(int index) {
    return telemetry.processes(handle(index));
  }

  // Requested each time, since NVML gives another handle to a GPU that came back.
  private long handle(int index) {
    functions.check(
        "GPU " + index + " is not there", "nvmlDeviceGetHandleByIndex_v2", index, scratch);
    return scratch.getLong(0);
  }

  private String pciBusId(int index, long device) {
    return functions.supports(
            "GPU " + index + " returns no PCI address", "nvmlDeviceGetPciInfo_v3", device, scratch)
        ? scratch.getString(PCI_BUS_ID_OFFSET, UTF_8)
        : "";
  }

  // NVML does not support these calls for GPUs that use the system's memory, such as GB10.
  private GpuMemory memory(int index, long device) {
    scratch.setInt(0, MEMORY_V2_VERSION);
    int result = functions.call("nvmlDeviceGetMemoryInfo_v2", device, scratch);
    if (result == NvmlCode.SUCCESS) {
      return new GpuMemory(
          scratch.getLong(MEMORY_V2_TOTAL_OFFSET),
          scratch.getLong(MEMORY_V2_RESERVED_OFFSET),
          scratch.getLong(MEMORY_V2_USED_OFFSET));
    }
    boolean older = NvmlCode.unsupported(result) || result == NvmlCode.ARGUMENT_VERSION_MISMATCH;
    if (older) {
      result = functions.call("nvmlDeviceGetMemoryInfo", device, scratch);
    }
    if (NvmlCode.unsupported(result)) {
      return sharesSystemMemory(device)
          ? GpuMemory.ofSystem(Path.of("/proc/meminfo"))
          : GpuMemory.UNKNOWN;
    }
    functions.check(result, "GPU " + index + " returns no memory");
    return new GpuMemory(scratch.getLong(0), 0, scratch.getLong(MEMORY_USED_OFFSET));
  }

  // The second version adjusts its answer to a memory limit of the caller's cgroup, the first does
  // not.
  private GpuMemory unlimited(GpuMemory memory, long device) {
    return functions.succeeds("nvmlDeviceGetMemoryInfo", device, scratch)
        ? new GpuMemory(scratch.getLong(0), memory.reservedBytes(), memory.usedBytes())
        : memory;
  }

  // GPUs with their own memory may also address the system's, so only those without are checked.
  private boolean sharesSystemMemory(long device) {
    scratch.setInt(0, ADDRESSING_VERSION);
    return functions.succeeds("nvmlDeviceGetAddressingMode", device, scratch)
        && scratch.getInt(ADDRESSING_VALUE_OFFSET) == ADDRESSING_ATS;
  }

  /** Requests an empty list, so that NVML only counts the processes. */
  private int processes(int index, long device) {
    scratch.setInt(0, 0);
    int result =
        functions.call("nvmlDeviceGetComputeRunningProcesses_v3", device, scratch, Pointer.NULL);
    if (NvmlCode.unsupported(result)) {
      return 0;
    }
    if (result != NvmlCode.INSUFFICIENT_SIZE) {
      functions.check(result, "GPU " + index + " does not count its processes");
    }
    return scratch.getInt(0);
  }

  @Override
  public void unwatchAll() {
    watched.clear();
    if (eventSet != 0) {
      functions.call("nvmlEventSetFree", eventSet);
      eventSet = 0;
    }
  }

  // Without an event set the GPUs are usable all the same; only their errors are not reported.
  private boolean eventSetOpen() {
    if (eventSet == 0
        && functions.supports("NVML creates no event set", "nvmlEventSetCreate", scratch)) {
      eventSet = scratch.getLong(0);
    }
    return eventSet != 0;
  }

  @Override
  public boolean watch(int index) {
    if (!eventSetOpen()) {
      return false;
    }
    long device = handle(index);
    boolean says =
        functions.supports(
            "GPU " + index + " does not say which events it has",
            "nvmlDeviceGetSupportedEventTypes",
            device,
            scratch);
    long types = says ? scratch.getLong(0) & EVENTS : 0;
    if (types == 0) {
      return false;
    }
    functions.check(
        "GPU " + index + " cannot be watched for errors",
        "nvmlDeviceRegisterEvents",
        device,
        types,
        eventSet);
    watched.values().remove(index);
    watched.put(device, index);
    return true;
  }

  @Override
  public Optional<GpuEvent> awaitEvent(int timeoutMs) {
    int result = functions.call("nvmlEventSetWait_v2", eventSet, scratch, timeoutMs);
    if (result == NvmlCode.TIMEOUT) {
      return Optional.empty();
    }
    functions.check(result, "waiting for GPU errors failed");
    long type = scratch.getLong(EVENT_TYPE_OFFSET);
    if ((type & EVENTS) == 0) {
      return Optional.empty();
    }
    long device = scratch.getLong(0);
    long code = type == EVENT_XID ? scratch.getLong(EVENT_DATA_OFFSET) : GpuEvent.DOUBLE_BIT_ECC;
    // NVML sets all bits for the whole GPU, which equals GpuEvent.ANY.
    int gpuInstance = scratch.getInt(EVENT_GPU_INSTANCE_OFFSET);
    int computeInstance = scratch.getInt(EVENT_COMPUTE_INSTANCE_OFFSET);
    return Optional.of(new GpuEvent(indexOf(device), code, gpuInstance, computeInstance));
  }

  /**
   * Returns the index of a device. If NVML no longer gives its handle, returns the index at which
   * it was watched, or {@link GpuEvent#ANY} if that is another GPU's now. Does not throw, so that
   * no event is lost.
   */
  private int indexOf(long device) {
    int count = functions.succeeds("nvmlDeviceGetCount_v2", scratch) ? scratch.getInt(0) : 0;
    int before = watched.getOrDefault(device, GpuEvent.ANY);
    for (int index = 0; index < count; index++) {
      if (functions.succeeds("nvmlDeviceGetHandleByIndex_v2", index, scratch)) {
        if (scratch.getLong(0) == device) {
          return index;
        }
        before = index == before ? GpuEvent.ANY : before;
      }
    }
    return before;
  }

  @Override
  public void close() {
    unwatchAll();
    gpm.close();
    functions.call("nvmlShutdown");
    library.close();
  }
}
