package dev.tranche.nodeplugin.cdi;

import dev.tranche.nodeplugin.file.FileAccess;
import dev.tranche.nodeplugin.gpu.HostNodes;
import dev.tranche.nodeplugin.nvml.DriverFolders;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The driver's files that containers need, as paths from the driver's root.
 *
 * @param libraries of the driver's version
 * @param links that lead to the libraries
 * @param programs such as nvidia-smi
 * @param sockets of the driver's daemons
 * @param firmware of the GPUs' own processor
 * @param graphics what programs that draw need
 * @param gds what GPUDirect Storage reads
 */
public record DriverFiles(
    List<String> libraries,
    List<Link> links,
    List<String> programs,
    List<String> sockets,
    List<String> firmware,
    GraphicsFiles graphics,
    List<String> gds) {
  /**
   * A symbolic link beside a library.
   *
   * @param target relative to its folder
   */
  public record Link(String target, String path) {}

  // The compiler that CUDA loads; its name has the version of its interface, not of the driver.
  private static final String UNVERSIONED = "libnvidia-nvvm70.so.*";
  private static final List<String> PROGRAM_FOLDERS =
      List.of("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin");
  private static final List<String> PROGRAMS =
      List.of(
          "nvidia-smi",
          "nvidia-debugdump",
          "nvidia-persistenced",
          "nvidia-cuda-mps-control",
          "nvidia-cuda-mps-server",
          "nvidia-imex",
          "nvidia-imex-ctl",
          "nvidia-xconfig");
  private static final List<String> SOCKET_FOLDERS = List.of("/run", "/var/run");
  private static final List<String> SOCKETS =
      List.of("nvidia-persistenced/socket", "nvidia-fabricmanager/socket");
  private static final List<String> FIRMWARE = List.of("gsp*.bin", "ucodes*.bin");
  private static final List<String> GDS = List.of("/run/udev", "/etc/cufile.json");

  /**
   * Finds the files. Blocks.
   *
   * @param root where the driver's root is mounted in this container
   * @param version of the driver
   */
  public static DriverFiles find(Path root, String version) {
    List<String> folders = DriverFolders.find(root).stream().map(folder -> "/" + folder).toList();
    List<String> libraries = libraries(root, version, folders);
    return new DriverFiles(
        libraries,
        LibraryLinks.of(root, libraries),
        firstExisting(root, PROGRAM_FOLDERS, PROGRAMS),
        firstExisting(root, SOCKET_FOLDERS, SOCKETS),
        firmware(root, version),
        GraphicsFiles.find(root, version, folders, libraries),
        GDS.stream().filter(path -> FileAccess.exists(at(root, path))).toList());
  }

  /**
   * Returns the libraries. Folders that link to each other have the same libraries, which count
   * once.
   */
  private static List<String> libraries(Path root, String version, List<String> folders) {
    List<String> found = new ArrayList<>();
    for (String folder : folders) {
      found.addAll(HostNodes.matching(root, folder, "*.so." + version));
      found.addAll(HostNodes.matching(root, folder, UNVERSIONED));
      found.addAll(HostNodes.matching(root, folder + "/vdpau", "*.so." + version));
    }
    return distinct(root, found);
  }

  /** Leaves out files that an earlier path leads to. */
  static List<String> distinct(Path root, List<String> paths) {
    Set<Path> seen = new HashSet<>();
    return paths.stream().filter(path -> seen.add(real(root, path))).toList();
  }

  private static Path real(Path root, String path) {
    Path file = DriverFolders.resolve(root, at(root, path));
    try {
      return file.toRealPath();
    } catch (IOException gone) {
      return file;
    }
  }

  /**
   * Returns why containers could not use a GPU with these files; empty if they can. Without
   * libcuda, a container would start and find no GPU. Blocks.
   */
  public Optional<String> unusable(Path root, String version) {
    if (libraries.stream().anyMatch(CdiSpecs::isCuda)) {
      return Optional.empty();
    }
    String name = "libcuda.so." + version;
    List<String> folders = DriverFolders.find(root);
    List<String> others =
        folders.stream()
            .flatMap(folder -> HostNodes.matching(root, "/" + folder, "libcuda.so.*.*").stream())
            .toList();
    return Optional.of(
        others.isEmpty()
            ? "%s is neither in %s of %s nor known to its ld.so.cache; set nvidiaDriverRoot to where the driver is installed, or use another deviceListStrategy"
                .formatted(name, String.join(", ", folders), root)
            : "%s, the library of the loaded kernel module, is not there, but %s is: reload the module or reboot the node"
                .formatted(name, others.getFirst()));
  }

  /** The kernel searches a folder of the administrator's first, such as that of Talos. */
  private static List<String> firmware(Path root, String version) {
    String release = FileAccess.text(Path.of("/proc/sys/kernel/osrelease"));
    String own = FileAccess.text(Path.of("/sys/module/firmware_class/parameters/path"));
    return Stream.of(
            own,
            "/lib/firmware/updates/" + release,
            "/lib/firmware/updates",
            "/lib/firmware/" + release,
            "/lib/firmware")
        .filter(folder -> folder.startsWith("/"))
        .distinct()
        .flatMap(
            folder ->
                FIRMWARE.stream()
                    .flatMap(
                        glob ->
                            HostNodes.matching(root, folder + "/nvidia/" + version, glob).stream()))
        .toList();
  }

  static List<String> firstExisting(Path root, List<String> folders, List<String> names) {
    return names.stream().flatMap(name -> firstExisting(root, folders, name).stream()).toList();
  }

  static Optional<String> firstExisting(Path root, List<String> folders, String name) {
    return folders.stream()
        .map(folder -> folder + "/" + name)
        .filter(path -> FileAccess.exists(at(root, path)))
        .findFirst();
  }

  static Path at(Path root, String path) {
    return root.resolve(path.substring(1));
  }
}
