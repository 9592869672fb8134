package dev.tranche.nodeplugin.nvml;

import com.sun.jna.Memory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntUnaryOperator;

/** What the sensors and the processes of a GPU tell. What a GPU does not have is unknown. */
final class NvmlTelemetry {
  /** More processes than that on one GPU are left out: a GPU's contexts are dear. */
  private static final int PROCESSES_MAX = 256;

  private static final int TEMPERATURE_GPU = 0;
  private static final int ECC_UNCORRECTED = 1;
  private static final int ECC_VOLATILE = 0;
  // nvmlProcessInfo_t: pid, usedGpuMemory, gpuInstanceId, computeInstanceId
  private static final int PROCESS_BYTES = 24;
  private static final int PROCESS_MEMORY_OFFSET = 8;
  // nvmlProcessUtilizationSample_t: pid, timeStamp, smUtil, memUtil, encUtil, decUtil
  private static final int SAMPLE_BYTES = 32;
  private static final int SAMPLE_TIME_OFFSET = 8;
  private static final int SAMPLE_SM_OFFSET = 16;

  private final Memory count = new Memory(Long.BYTES);
  private final Memory list = new Memory((long) PROCESSES_MAX * SAMPLE_BYTES);
  private final Map<Long, Long> sampledToUs = new HashMap<>();
  private final boolean newer;
  private final boolean mps;

  /**
   * @param newer whether the driver has the functions of {@link NvmlNewerFunctions}
   * @param mps whether it has those of {@link NvmlMpsFunctions}
   */
  NvmlTelemetry(boolean newer, boolean mps) {
    this.newer = newer;
    this.mps = mps;
  }

  int temperatureCelsius(long device) {
    return NvmlFunctions.nvmlDeviceGetTemperature(device, TEMPERATURE_GPU, count)
            == NvmlCode.SUCCESS
        ? count.getInt(0)
        : GpuReading.UNKNOWN;
  }

  long powerMilliwatts(long device) {
    return NvmlFunctions.nvmlDeviceGetPowerUsage(device, count) == NvmlCode.SUCCESS
        ? Integer.toUnsignedLong(count.getInt(0))
        : GpuReading.UNKNOWN;
  }

  long throttling(long device) {
    return NvmlFunctions.nvmlDeviceGetCurrentClocksThrottleReasons(device, count)
            == NvmlCode.SUCCESS
        ? count.getLong(0)
        : GpuReading.UNKNOWN;
  }

  long eccUncorrected(long device) {
    return NvmlFunctions.nvmlDeviceGetTotalEccErrors(device, ECC_UNCORRECTED, ECC_VOLATILE, count)
            == NvmlCode.SUCCESS
        ? count.getLong(0)
        : GpuReading.UNKNOWN;
  }

  /** Empty where the driver is too old to tell. */
  List<GpuProcess> processes(long device) {
    if (!newer) {
      return List.of();
    }
    Map<Integer, Long> memory = memory(device);
    if (memory.isEmpty()) {
      return List.of();
    }
    Map<Integer, Integer> sm = smPercents(device);
    return processes(memory, pid -> sm.getOrDefault(pid, 0));
  }

  /**
   * Those of a MIG device, whose handle gives only them. NVML has no utilization of MIG devices:
   * each gets an equal part.
   *
   * @param smPercent of all together
   */
  List<GpuProcess> migProcesses(long part, int smPercent) {
    if (!newer) {
      return List.of();
    }
    Map<Integer, Long> memory = memory(part);
    return processes(memory, pid -> smPercent / memory.size());
  }

  /** By pid, in bytes. */
  private Map<Integer, Long> memory(long device) {
    Map<Integer, Long> memory = new HashMap<>();
    add(memory, NvmlNewerFunctions.nvmlDeviceGetComputeRunningProcesses_v3(device, room(), list));
    add(memory, NvmlNewerFunctions.nvmlDeviceGetGraphicsRunningProcesses_v3(device, room(), list));
    if (mps) {
      add(
          memory,
          NvmlMpsFunctions.nvmlDeviceGetMPSComputeRunningProcesses_v3(device, room(), list));
    }
    return memory;
  }

  private static List<GpuProcess> processes(Map<Integer, Long> memory, IntUnaryOperator sm) {
    List<GpuProcess> processes = new ArrayList<>();
    memory.forEach((pid, used) -> processes.add(new GpuProcess(pid, used, sm.applyAsInt(pid))));
    return processes;
  }

  private Memory room() {
    count.setInt(0, PROCESSES_MAX);
    return count;
  }

  // A process that computes and draws is in both lists with all of its memory.
  private void add(Map<Integer, Long> memory, int result) {
    if (result != NvmlCode.SUCCESS) {
      return;
    }
    for (int i = 0; i < Math.min(count.getInt(0), PROCESSES_MAX); i++) {
      long at = (long) i * PROCESS_BYTES;
      // All bits set where it is not available, which is our unknown.
      memory.merge(list.getInt(at), list.getLong(at + PROCESS_MEMORY_OFFSET), Math::max);
    }
  }

  /** The mean of the samples since the last call, by pid. */
  private Map<Integer, Integer> smPercents(long device) {
    long sinceUs = sampledToUs.getOrDefault(device, 0L);
    int result = NvmlFunctions.nvmlDeviceGetProcessUtilization(device, list, room(), sinceUs);
    Map<Integer, int[]> sums = new HashMap<>();
    for (int i = 0; result == NvmlCode.SUCCESS && i < count.getInt(0); i++) {
      long at = (long) i * SAMPLE_BYTES;
      sinceUs = Math.max(sinceUs, list.getLong(at + SAMPLE_TIME_OFFSET));
      int[] sum = sums.computeIfAbsent(list.getInt(at), pid -> new int[2]);
      sum[0] += Math.clamp(list.getInt(at + SAMPLE_SM_OFFSET), 0, 100);
      sum[1]++;
    }
    sampledToUs.put(device, sinceUs);
    Map<Integer, Integer> means = new HashMap<>();
    sums.forEach((pid, sum) -> means.put(pid, sum[0] / sum[1]));
    return means;
  }

  void close() {
    count.close();
    list.close();
  }
}
