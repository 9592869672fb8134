package dev.tranche.nodeplugin.nvml;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.util.OptionalLong;

/** What NVML tells of MIG: which GPUs are cut, and the parts' handles and figures. */
final class NvmlMig {
  private static final int ENABLED = 1;
  private static final int SCRATCH_BYTES = 64;
  // nvmlDeviceAttributes_t: eight counts, the last two of which are slices, then the memory in MiB
  private static final int GPU_SLICES_OFFSET = 24;
  private static final int COMPUTE_SLICES_OFFSET = 28;
  private static final int MEMORY_MIB_OFFSET = 32;

  private final Memory scratch = new Memory(SCRATCH_BYTES);
  private final Pointer pending = scratch.share(Integer.BYTES);
  private final NvmlFunctions functions;

  NvmlMig(NvmlFunctions functions) {
    this.functions = functions;
  }

  /** Also false for GPUs that cannot be cut. */
  boolean enabled(long device) {
    return functions.call("nvmlDeviceGetMigMode", device, scratch, pending) == NvmlCode.SUCCESS
        && scratch.getInt(0) == ENABLED;
  }

  /** As many parts as the GPU can have; not all places are taken. */
  int places(long device) {
    int result = functions.call("nvmlDeviceGetMaxMigDeviceCount", device, scratch);
    return result == NvmlCode.SUCCESS ? scratch.getInt(0) : 0;
  }

  /** The part at a place; empty if there is none. */
  OptionalLong handle(long device, int place) {
    int result = functions.call("nvmlDeviceGetMigDeviceHandleByIndex", device, place, scratch);
    return result == NvmlCode.SUCCESS ? OptionalLong.of(scratch.getLong(0)) : OptionalLong.empty();
  }

  /** A result of NVML's, and the instance's id in {@link #value}. */
  int gpuInstance(long part) {
    return functions.call("nvmlDeviceGetGpuInstanceId", part, scratch);
  }

  /** A result of NVML's, and the instance's id in {@link #value}. */
  int computeInstance(long part) {
    return functions.call("nvmlDeviceGetComputeInstanceId", part, scratch);
  }

  int value() {
    return scratch.getInt(0);
  }

  /** A result of NVML's; the profile can be asked for after a success. */
  int attributes(long part) {
    return functions.call("nvmlDeviceGetAttributes_v2", part, scratch);
  }

  /** Of the part whose attributes were read last. */
  String profile(String model, long parentBytes) {
    return MigProfile.of(
        model,
        scratch.getInt(GPU_SLICES_OFFSET),
        scratch.getInt(COMPUTE_SLICES_OFFSET),
        scratch.getLong(MEMORY_MIB_OFFSET) << 20,
        parentBytes);
  }
}
