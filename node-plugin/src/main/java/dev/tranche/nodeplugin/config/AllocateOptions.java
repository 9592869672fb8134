package dev.tranche.nodeplugin.config;

import java.util.Locale;
import java.util.Set;

/**
 * Options of an Allocate answer, apart from the GPUs.
 *
 * @param deviceListStrategies at least one
 * @param byIndex whether a container's GPUs are identified by index, else by uuid
 * @param passDeviceSpecs name the device nodes to the kubelet
 * @param driverRoot the driver's root folder on the host
 * @param devRoot the host folder that may hold dev, no trailing slash; empty: the root
 * @param driverRootInContainer where the driver root is mounted in this container
 * @param additional classes of devices that containers get beside GPUs
 * @param cdiAnnotationPrefix of the container annotation's key, such as {@code cdi.k8s.io/}
 * @param cdiHookPath on the host, of the program that runs CDI hooks
 * @param disabledCdiHooks left out of the CDI spec; {@code all}: every hook
 * @param imexChannel whether every GPU container gets IMEX channel 0
 * @param imexRequired a channel whose device node is missing is an error rather than left out
 */
public record AllocateOptions(
    Set<DeviceListStrategy> deviceListStrategies,
    boolean byIndex,
    boolean passDeviceSpecs,
    String driverRoot,
    String devRoot,
    String driverRootInContainer,
    Set<DeviceClass> additional,
    String cdiAnnotationPrefix,
    String cdiHookPath,
    Set<String> disabledCdiHooks,
    boolean imexChannel,
    boolean imexRequired) {
  /** In the names of CDI devices; NVIDIA's plugin has the same. */
  public static final String CDI_VENDOR = "k8s.device-plugin.nvidia.com";

  /** Devices that a container can get beside GPUs. Their lower-case names are NVIDIA's. */
  public enum DeviceClass {
    GDRCOPY("/dev", "gdrdrv"),
    /** GPUDirect Storage. */
    GDS("/dev", "nvidia-fs*"),
    MOFED("/dev/infiniband", "{rdma_cm,uverbs*}");

    private final String folder;
    private final String glob;

    DeviceClass(String folder, String glob) {
      this.folder = folder;
      this.glob = glob;
    }

    /** Returns the folder of its device nodes. */
    public String folder() {
      return folder;
    }

    /** Returns a glob of the names of its device nodes. */
    public String glob() {
      return glob;
    }

    public String text() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** How an Allocate answer names the GPUs to the container runtime; several can be on at once. */
  public enum DeviceListStrategy {
    ENVVAR,
    VOLUME_MOUNTS,
    CDI_ANNOTATIONS,
    CDI_CRI;

    public boolean cdi() {
      return this == CDI_ANNOTATIONS || this == CDI_CRI;
    }
  }
}
