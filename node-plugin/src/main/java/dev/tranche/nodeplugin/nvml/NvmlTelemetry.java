package dev.tranche.nodeplugin.nvml;

import com.sun.jna.Memory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IntSummaryStatistics;
import java.util.List;
import java.util.Map;
import java.util.function.IntUnaryOperator;

/** Reads the sensors and the processes of a GPU. What a GPU does not have is unknown. */
final class NvmlTelemetry {
  /** Enough for nearly all GPUs; the list grows if there are more. */
  private static final int PROCESSES_AT_FIRST = 256;

  /**
   * If one GPU has more processes, none is reported. That is unlikely, since contexts are
   * expensive.
   */
  private static final int PROCESSES_MAX = 4096;

  private static final int TEMPERATURE_GPU = 0;
  private static final int ECC_UNCORRECTED = 1;
  private static final int ECC_VOLATILE = 0;
  // nvmlProcessInfo_t: pid, usedGpuMemory, gpuInstanceId, computeInstanceId. Drivers 535.54 to
  // 535.86 add usedGpuCcProtectedMemory, under the same version of the function.
  private static final int PROCESS_BYTES = 24;
  private static final int PROCESS_535_BYTES = 32;
  // Fills the list before a call: neither a plausible count nor an unavailable one consists of it.
  private static final byte UNTOUCHED = (byte) 0xA5;
  private static final int PROCESS_MEMORY_OFFSET = 8;
  // nvmlProcessUtilizationSample_t: pid, timeStamp, smUtil, memUtil, encUtil, decUtil
  private static final int SAMPLE_BYTES = 32;
  private static final int SAMPLE_TIME_OFFSET = 8;
  private static final int SAMPLE_SM_OFFSET = 16;

  private final Memory scratch = new Memory(Long.BYTES);
  private final Map<Long, Long> sampledToUs = new HashMap<>();
  private final NvmlFunctions functions;
  private int capacity = PROCESSES_AT_FIRST;
  private Memory list = new Memory((long) capacity * PROCESS_535_BYTES);

  NvmlTelemetry(NvmlFunctions functions) {
    this.functions = functions;
  }

  int temperatureCelsius(long device) {
    return (int) value("nvmlDeviceGetTemperature", device, TEMPERATURE_GPU, scratch);
  }

  long powerMilliwatts(long device) {
    return value("nvmlDeviceGetPowerUsage", device, scratch);
  }

  long throttling(long device) {
    return value("nvmlDeviceGetCurrentClocksThrottleReasons", device, scratch);
  }

  long eccUncorrected(long device) {
    return value("nvmlDeviceGetTotalEccErrors", device, ECC_UNCORRECTED, ECC_VOLATILE, scratch);
  }

  /** Returns what a function writes: eight bytes, or four, the lower half of the cleared eight. */
  private long value(String function, Object... arguments) {
    scratch.clear();
    return functions.succeeds(function, arguments) ? scratch.getLong(0) : GpuReading.UNKNOWN;
  }

  /** Empty where the driver is too old to tell. */
  List<GpuProcess> processes(long device) {
    Map<Integer, Long> memory = memory(device);
    if (memory.isEmpty()) {
      return List.of();
    }
    Map<Integer, IntSummaryStatistics> sm = smPercents(device);
    var idle = new IntSummaryStatistics();
    return processes(memory, pid -> (int) sm.getOrDefault(pid, idle).getAverage());
  }

  /**
   * Returns the processes of a MIG device, which are all that its handle gives. NVML has no
   * utilization of the processes of MIG devices, so each process gets an equal part.
   */
  List<GpuProcess> migProcesses(long migDevice) {
    Map<Integer, Long> memory = memory(migDevice);
    return processes(memory, pid -> 100 / memory.size());
  }

  /** By pid, in bytes. */
  private Map<Integer, Long> memory(long device) {
    Map<Integer, Long> memory = new HashMap<>();
    addProcesses(memory, device, "nvmlDeviceGetComputeRunningProcesses_v3");
    addProcesses(memory, device, "nvmlDeviceGetGraphicsRunningProcesses_v3");
    // From Volta on a client of an MPS server may be in this list only.
    addProcesses(memory, device, "nvmlDeviceGetMPSComputeRunningProcesses_v3");
    return memory;
  }

  private static List<GpuProcess> processes(Map<Integer, Long> memory, IntUnaryOperator sm) {
    List<GpuProcess> processes = new ArrayList<>();
    memory.forEach((pid, used) -> processes.add(new GpuProcess(pid, used, sm.applyAsInt(pid))));
    return processes;
  }

  private Memory capacityPointer() {
    scratch.setInt(0, capacity);
    return scratch;
  }

  // A process of compute and graphics is in both lists, each time with all of its memory.
  private void addProcesses(Map<Integer, Long> memory, long device, String function) {
    int result = list(function, device);
    if (result == NvmlCode.INSUFFICIENT_SIZE && grow(scratch.getInt(0))) {
      result = list(function, device);
    }
    if (result != NvmlCode.SUCCESS) {
      return;
    }
    int found = Math.min(scratch.getInt(0), capacity);
    int stride = stride(found);
    for (int i = 0; i < found; i++) {
      long at = (long) i * stride;
      // NVML sets all bits where it is not available, which equals GpuReading.UNKNOWN.
      memory.merge(list.getInt(at), list.getLong(at + PROCESS_MEMORY_OFFSET), Math::max);
    }
  }

  private int list(String function, long device) {
    list.setMemory(0, list.size(), UNTOUCHED);
    return functions.call(function, device, capacityPointer(), list);
  }

  private boolean grow(int needed) {
    if (needed <= capacity || needed > PROCESSES_MAX) {
      return false;
    }
    // Some more, since processes may start meanwhile.
    capacity = Math.min(PROCESSES_MAX, needed + PROCESSES_AT_FIRST);
    list.close();
    list = new Memory((long) capacity * PROCESS_535_BYTES);
    return true;
  }

  /** Returns the size of a process entry in this driver, detected by how far it has written. */
  private int stride(int found) {
    for (long at = (long) found * PROCESS_BYTES; at < (long) found * PROCESS_535_BYTES; at++) {
      if (list.getByte(at) != UNTOUCHED) {
        return PROCESS_535_BYTES;
      }
    }
    return PROCESS_BYTES;
  }

  /** Returns the SM utilization in the samples since the last call, by pid. */
  private Map<Integer, IntSummaryStatistics> smPercents(long device) {
    long sinceUs = sampledToUs.getOrDefault(device, 0L);
    int result =
        functions.call("nvmlDeviceGetProcessUtilization", device, list, capacityPointer(), sinceUs);
    Map<Integer, IntSummaryStatistics> percents = new HashMap<>();
    for (int i = 0; result == NvmlCode.SUCCESS && i < scratch.getInt(0); i++) {
      long at = (long) i * SAMPLE_BYTES;
      sinceUs = Math.max(sinceUs, list.getLong(at + SAMPLE_TIME_OFFSET));
      percents
          .computeIfAbsent(list.getInt(at), pid -> new IntSummaryStatistics())
          .accept(Math.clamp(list.getInt(at + SAMPLE_SM_OFFSET), 0, 100));
    }
    sampledToUs.put(device, sinceUs);
    return percents;
  }
}
