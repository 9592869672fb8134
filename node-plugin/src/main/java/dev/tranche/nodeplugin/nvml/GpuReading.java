package dev.tranche.nodeplugin.nvml;

/**
 * One reading of a GPU.
 *
 * @param memoryUsedBytes the driver's reserve not included; {@link #UNKNOWN} where NVML does not
 *     say
 * @param smPercent 0 to 100: the part of NVML's last period in which a kernel was running
 * @param processes number of compute processes
 * @param temperatureCelsius {@link #UNKNOWN} where the GPU has no such sensor
 * @param powerMilliwatts likewise
 * @param throttling NVML's bits that say why the clocks are lower than requested; {@link #UNKNOWN}
 *     likewise
 * @param eccUncorrected memory errors since the driver was loaded; {@link #UNKNOWN} without ECC
 * @param gpm how much of the hardware worked, where NVML tells
 */
public record GpuReading(
    long memoryUsedBytes,
    int smPercent,
    int processes,
    int temperatureCelsius,
    long powerMilliwatts,
    long throttling,
    long eccUncorrected,
    Gpm gpm) {
  public static final int UNKNOWN = -1;

  /** A reading of a GPU without sensors. */
  public GpuReading(long memoryUsedBytes, int smPercent, int processes, Gpm gpm) {
    this(memoryUsedBytes, smPercent, processes, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, gpm);
  }

  /** A reading of a GPU without sensors and GPM. */
  public GpuReading(long memoryUsedBytes, int smPercent, int processes) {
    this(memoryUsedBytes, smPercent, processes, Gpm.UNKNOWN);
  }
}
