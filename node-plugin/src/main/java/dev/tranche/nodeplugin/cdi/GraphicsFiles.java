package dev.tranche.nodeplugin.cdi;

import dev.tranche.nodeplugin.cdi.DriverFiles.Link;
import dev.tranche.nodeplugin.gpu.HostNodes;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.stream.Stream;

/**
 * The driver's files that programs need for EGL, Vulkan, OpenCL, OptiX and X.Org, as paths from the
 * driver's root. Those that NVIDIA's toolkit mounts.
 *
 * @param libraries with versions of their own
 * @param links between the driver's libraries
 * @param configs that the loaders in a container read
 */
record GraphicsFiles(List<String> libraries, List<Link> links, List<Config> configs) {
  /**
   * A file that containers have where its loader looks, wherever the host has it.
   *
   * @param from where the host has it
   * @param to where a container has it
   */
  record Config(String from, String to) {}

  private static final List<String> LIBRARIES =
      List.of(
          "libnvidia-egl-gbm.so.*.*",
          "libnvidia-egl-wayland.so.*.*",
          "libnvidia-egl-wayland2.so.*.*",
          "libnvidia-egl-xcb.so.*.*",
          "libnvidia-egl-xlib.so.*.*");

  private static final List<String> CONFIG_FOLDERS =
      List.of("/etc", "/usr/local/share", "/usr/share");
  private static final List<String> SHARED =
      List.of(
          "glvnd/egl_vendor.d/10_nvidia.json",
          "egl/egl_external_platform.d/15_nvidia_gbm.json",
          "egl/egl_external_platform.d/10_nvidia_wayland.json",
          "egl/egl_external_platform.d/09_nvidia_wayland2.json",
          "egl/egl_external_platform.d/20_nvidia_xcb.json",
          "egl/egl_external_platform.d/20_nvidia_xlib.json",
          "nvidia/nvoptix.bin",
          "X11/xorg.conf.d/10-nvidia.conf",
          "X11/xorg.conf.d/nvidia-drm-outputclass.conf");
  private static final List<String> OPENCL = List.of("OpenCL/vendors/nvidia.icd");

  /** GKE has these directly below the driver's root. */
  private static final List<String> VULKAN_FOLDERS =
      Stream.concat(CONFIG_FOLDERS.stream(), Stream.of("")).toList();

  /** Some packages name the first by the machine. */
  private static final List<String> VULKAN =
      List.of(
          "vulkan/icd.d/nvidia_icd.json",
          "vulkan/icd.d/nvidia_layers.json",
          "vulkan/implicit_layer.d/nvidia_layers.json",
          "vulkan/icd.d/nvidia_icd.%s.json"
              .formatted(System.getProperty("os.arch").equals("aarch64") ? "aarch64" : "x86_64"));

  private static final List<String> XORG_ROOTS =
      List.of("/usr/lib/xorg", "/usr/lib64/xorg", "/usr/X11R6/lib", "/usr/X11R6/lib64");
  private static final List<String> XORG_FOLDERS =
      List.of(
          "/modules/drivers",
          "/modules/extensions",
          "/modules/updates/drivers",
          "/modules/updates/extensions");

  /**
   * Finds the files. Blocks.
   *
   * @param root where the driver's root is mounted in this container
   * @param version of the driver
   * @param folders of the driver's libraries
   * @param driver the libraries of the driver's version
   */
  static GraphicsFiles find(Path root, String version, List<String> folders, List<String> driver) {
    List<String> libraries = new ArrayList<>();
    for (String folder : folders) {
      LIBRARIES.forEach(name -> libraries.addAll(HostNodes.matching(root, folder, name)));
    }
    List<String> xorg = xorg(root, version, folders);
    libraries.addAll(xorg);
    List<Config> configs = new ArrayList<>();
    addConfigs(root, CONFIG_FOLDERS, SHARED, "/usr/share/", configs);
    addConfigs(root, CONFIG_FOLDERS, OPENCL, "/etc/", configs);
    addConfigs(root, VULKAN_FOLDERS, VULKAN, "/etc/", configs);
    return new GraphicsFiles(
        DriverFiles.distinct(root, libraries),
        links(Stream.concat(driver.stream(), xorg.stream())),
        configs);
  }

  private static List<String> xorg(Path root, String version, List<String> folders) {
    Set<String> modules = new LinkedHashSet<>();
    folders.forEach(folder -> modules.add(folder + "/nvidia/xorg"));
    Stream.concat(folders.stream().map(folder -> folder + "/xorg"), XORG_ROOTS.stream())
        .forEach(each -> XORG_FOLDERS.forEach(folder -> modules.add(each + folder)));
    return DriverFiles.firstExisting(
        root, List.copyOf(modules), List.of("nvidia_drv.so", "libglxserver_nvidia.so." + version));
  }

  private static void addConfigs(
      Path root, List<String> folders, List<String> names, String to, List<Config> configs) {
    for (String name : names) {
      DriverFiles.firstExisting(root, folders, name)
          .ifPresent(from -> configs.add(new Config(from, to + name)));
    }
  }

  private static List<Link> links(Stream<String> libraries) {
    return libraries
        .map(LibraryLinks.LIBRARY::matcher)
        .filter(Matcher::matches)
        .flatMap(parts -> links(parts.group(1), parts.group(2), parts.group(3)))
        .toList();
  }

  private static Stream<Link> links(String folder, String library, String bare) {
    return switch (bare) {
      case "libnvidia-allocator.so" ->
          Stream.of(new Link("../libnvidia-allocator.so.1", folder + "gbm/nvidia-drm_gbm.so"));
      case "libnvidia-vulkan-producer.so", "libglxserver_nvidia.so" ->
          Stream.of(new Link(library, folder + bare));
      default -> Stream.empty();
    };
  }
}
