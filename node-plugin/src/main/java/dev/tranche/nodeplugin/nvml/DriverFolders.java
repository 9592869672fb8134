package dev.tranche.nodeplugin.nvml;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Finds the folders of the driver's libraries below its root, where NVIDIA's toolkit looks. */
public final class DriverFolders {
  /** From the driver's root. The last ones are those of Arch and Talos. */
  static final List<String> KNOWN =
      List.of(
          "usr/lib64",
          "usr/lib/x86_64-linux-gnu",
          "usr/lib/aarch64-linux-gnu",
          "usr/lib/x86_64-linux-gnu/nvidia/current",
          "usr/lib/aarch64-linux-gnu/nvidia/current",
          "lib64",
          "lib/x86_64-linux-gnu",
          "lib/aarch64-linux-gnu",
          "lib/x86_64-linux-gnu/nvidia/current",
          "lib/aarch64-linux-gnu/nvidia/current",
          "usr/lib",
          "usr/local/glibc/usr/lib",
          "usr/local/glibc/lib");

  private static final List<String> CACHES =
      List.of("etc/ld.so.cache", "usr/local/glibc/etc/ld.so.cache");
  private static final List<String> LIBRARIES = List.of("libcuda.so.1", "libnvidia-ml.so.1");
  private static final int LINKS_MAX = 40;

  private DriverFolders() {}

  /**
   * Returns the folders, relative to the root: the known ones, then those of ld's cache. Blocks.
   */
  public static List<String> find(Path root) {
    Set<String> folders = new LinkedHashSet<>(KNOWN);
    for (String cache : CACHES) {
      for (String library : LdCache.paths(root.resolve(cache), LIBRARIES)) {
        Path file = under(root, library);
        addFolder(folders, root, file);
        addFolder(folders, root, resolve(root, file));
      }
    }
    return List.copyOf(folders);
  }

  private static void addFolder(Set<String> folders, Path root, Path file) {
    Path folder = file.getParent();
    if (folder != null && folder.startsWith(root) && !folder.equals(root)) {
      folders.add(root.relativize(folder).toString());
    }
  }

  private static Path under(Path root, String absolute) {
    Path inside = root.resolve(absolute.replaceFirst("^/+", "")).normalize();
    return inside.startsWith(root) ? inside : root;
  }

  /**
   * Follows the links of a file. Absolute ones, such as those to /etc/alternatives, lead from the
   * driver's root and not from this container's. Returns the last one that is there. Blocks.
   */
  public static Path resolve(Path root, Path file) {
    Path at = file;
    for (int followed = 0; followed < LINKS_MAX && Files.isSymbolicLink(at); followed++) {
      try {
        Path target = Files.readSymbolicLink(at);
        at =
            target.isAbsolute()
                ? under(root, target.toString())
                : at.resolveSibling(target).normalize();
      } catch (IOException unreadable) {
        return at;
      }
    }
    return Files.exists(at, LinkOption.NOFOLLOW_LINKS) ? at : file;
  }
}
