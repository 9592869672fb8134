package dev.tranche.e2e.gpu;

/**
 * A GPU model as NVML describes it.
 *
 * @param memoryMib total, the driver's reserve included
 * @param computeCapability as in {@code "7.5"}
 */
public record Model(String name, int memoryMib, int reservedMib, String computeCapability) {
  public static final Model T4 = new Model("Tesla T4", 15360, 458, "7.5");
  public static final Model V100 = new Model("Tesla V100-SXM2-16GB", 16384, 439, "7.0");
  public static final Model A10G = new Model("NVIDIA A10G", 23028, 512, "8.6");
  public static final Model L4 = new Model("NVIDIA L4", 23034, 512, "8.9");
  public static final Model A100 = new Model("NVIDIA A100-SXM4-40GB", 40960, 600, "8.0");
  public static final Model H100 = new Model("NVIDIA H100 80GB HBM3", 81559, 600, "9.0");
  public static final Model GTX_1080_TI =
      new Model("NVIDIA GeForce GTX 1080 Ti", 11178, 250, "6.1");

  public int usableMib() {
    return memoryMib - reservedMib;
  }
}
