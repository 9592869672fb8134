package dev.tranche.nodeplugin.nvml;

/**
 * An error that the driver reported.
 *
 * @param index the GPU's; {@link #ANY} if NVML does not tell, which then concerns all GPUs
 * @param code NVIDIA's XID number; {@link #DOUBLE_BIT_ECC} for an event of that type
 * @param gpuInstance of a MIG device; {@link #ANY} for the whole GPU
 * @param computeInstance likewise
 */
public record GpuEvent(int index, long code, int gpuInstance, int computeInstance) {
  public static final int ANY = -1;

  /** The XID that comes with an uncorrectable memory error. */
  public static final long DOUBLE_BIT_ECC = 48;

  /** An error of the whole GPU. */
  public GpuEvent(int index, long code) {
    this(index, code, ANY, ANY);
  }

  /** Returns whether it hits this GPU or MIG device. */
  public boolean hits(GpuInfo gpu) {
    boolean ofInstance = gpuInstance != ANY && computeInstance != ANY;
    boolean ofAnother =
        ofInstance
            && gpu.mig() instanceof Mig.Device device
            && (device.gpuInstance() != gpuInstance || device.computeInstance() != computeInstance);
    return (index == ANY || index == gpu.index()) && !ofAnother;
  }
}
