package dev.tranche.nodeplugin.nvml;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.util.OptionalLong;

/** Reads from NVML which GPUs have MIG on, and the handles and attributes of their MIG devices. */
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

  /** Returns whether MIG is on; also false for GPUs without MIG. */
  boolean enabled(long device) {
    return functions.call("nvmlDeviceGetMigMode", device, scratch, pending) == NvmlCode.SUCCESS
        && scratch.getInt(0) == ENABLED;
  }

  /** Returns how many MIG devices the GPU can have; not every index need have one. */
  int maxDevices(long device) {
    int result = functions.call("nvmlDeviceGetMaxMigDeviceCount", device, scratch);
    return result == NvmlCode.SUCCESS ? scratch.getInt(0) : 0;
  }

  /** Returns the handle of the MIG device at an index; empty if there is none. */
  OptionalLong handle(long device, int migIndex) {
    int result = functions.call("nvmlDeviceGetMigDeviceHandleByIndex", device, migIndex, scratch);
    return result == NvmlCode.SUCCESS ? OptionalLong.of(scratch.getLong(0)) : OptionalLong.empty();
  }

  /** Returns NVML's return code; after a success, {@link #value} returns the instance's id. */
  int gpuInstance(long migDevice) {
    return functions.call("nvmlDeviceGetGpuInstanceId", migDevice, scratch);
  }

  /** Returns NVML's return code; after a success, {@link #value} returns the instance's id. */
  int computeInstance(long migDevice) {
    return functions.call("nvmlDeviceGetComputeInstanceId", migDevice, scratch);
  }

  int value() {
    return scratch.getInt(0);
  }

  /** Returns NVML's return code; after a success, {@link #profile} can be called. */
  int attributes(long migDevice) {
    return functions.call("nvmlDeviceGetAttributes_v2", migDevice, scratch);
  }

  /** Returns the profile of the MIG device whose attributes were read last. */
  String profile(String model, long parentBytes) {
    return MigProfile.of(
        model,
        scratch.getInt(GPU_SLICES_OFFSET),
        scratch.getInt(COMPUTE_SLICES_OFFSET),
        scratch.getLong(MEMORY_MIB_OFFSET) << 20,
        parentBytes);
  }
}
