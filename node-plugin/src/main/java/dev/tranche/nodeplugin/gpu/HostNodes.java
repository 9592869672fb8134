package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.config.AllocateOptions;
import dev.tranche.nodeplugin.config.AllocateOptions.DeviceClass;
import dev.tranche.nodeplugin.file.FileAccess;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The device nodes of this host other than those of its GPUs.
 *
 * @param control those of the driver, such as /dev/nvidiactl
 * @param imexChannel whether IMEX channel 0 exists
 * @param additional those of other classes, which have at least one
 * @param driverHasDev the driver's root has a dev folder of its own
 */
public record HostNodes(
    List<String> control,
    boolean imexChannel,
    Map<DeviceClass, List<String>> additional,
    boolean driverHasDev) {
  public static final HostNodes NONE = new HostNodes(List.of(), false, Map.of(), true);

  /** NVIDIA's list, in its order; which of them exist depends on the driver's modules. */
  private static final List<String> CONTROL =
      List.of("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset");

  public static final String IMEX_NODE = "/dev/nvidia-caps-imex-channels/channel0";

  /**
   * Finds the device nodes. Blocks.
   *
   * <p>The host's dev folder decides: a container runtime gives our container only the nodes of the
   * capabilities that it requests. CUDA does not start without /dev/nvidia-uvm.
   *
   * @param own our root, normally /; used if the driver's root has no dev folder
   * @param driver where the driver's root is mounted in this container
   */
  public static HostNodes find(Path own, Path driver) {
    boolean driverHasDev =
        FileAccess.exists(driver.resolve("dev")) && Files.isDirectory(driver.resolve("dev"));
    Path dev = driverHasDev ? driver : own;
    Map<DeviceClass, List<String>> additional = new EnumMap<>(DeviceClass.class);
    for (DeviceClass of : DeviceClass.values()) {
      List<String> nodes = matching(dev, of.folder(), of.glob());
      if (!nodes.isEmpty()) {
        additional.put(of, nodes);
      }
    }
    return new HostNodes(
        CONTROL.stream().filter(node -> exists(dev, node)).toList(),
        exists(dev, IMEX_NODE) || exists(own, IMEX_NODE),
        additional,
        driverHasDev);
  }

  private static boolean exists(Path root, String node) {
    return FileAccess.exists(root.resolve(node.substring(1)));
  }

  /**
   * Lists matching entries of a folder as sorted paths from the root; empty if there is no such
   * folder. Blocks.
   *
   * @param glob of the names
   */
  public static List<String> matching(Path root, String folder, String glob) {
    List<String> found = new ArrayList<>();
    Path at = root.resolve(folder.substring(1));
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(at, glob)) {
      entries.forEach(entry -> found.add(folder + "/" + entry.getFileName()));
    } catch (IOException absent) {
      FileAccess.logDenied(at.resolve(glob));
      return List.of();
    }
    return found.stream().sorted().toList();
  }

  /**
   * Returns the host folder that holds dev; empty for the root. If it is not configured, it is the
   * driver's root if that has a dev folder, as NVIDIA's toolkit decides. GKE's driver root,
   * /home/kubernetes/bin/nvidia, has none.
   */
  public String devRoot(AllocateOptions options) {
    boolean ofDriver = options.devRoot().equals(options.driverRoot().replaceFirst("/$", ""));
    return ofDriver && !driverHasDev ? "" : options.devRoot();
  }

  /** Returns why containers cannot get what a config requires; empty if they can. */
  public Optional<String> missing(AllocateOptions options) {
    return options.imexRequired() && options.imexChannel() && !imexChannel
        ? Optional.of(
            "requested IMEX channel channel0 does not exist: create %s (nvidia-modprobe), or set imex.required to false"
                .formatted(IMEX_NODE))
        : Optional.empty();
  }

  /** Returns whether containers get IMEX channel 0: if it is asked for and exists. */
  public boolean givesImexChannel(AllocateOptions options) {
    return options.imexChannel() && imexChannel;
  }

  /** Returns the other classes of devices that are requested and have a device node. */
  public List<DeviceClass> additional(AllocateOptions options) {
    return options.additional().stream().filter(additional::containsKey).toList();
  }
}
