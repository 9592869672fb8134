package dev.tranche.nodeplugin.cdi;

import dev.tranche.nodeplugin.cdi.DriverFiles.Link;
import dev.tranche.nodeplugin.nvml.DriverFolders;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The symbolic links that containers need beside the driver's libraries: those that the host has,
 * and a few that programs open although drivers do not always bring them. Blocks.
 */
final class LibraryLinks {
  /** Its folder, its name, and its name without the version. */
  static final Pattern LIBRARY = Pattern.compile("(.*/)((.+\\.so)\\.[\\d.]+)");

  // Sonames of libraries end in .0 to .9.
  private static final int SONAME_MAX = 9;

  private LibraryLinks() {}

  /**
   * Finds the links.
   *
   * @param root where the driver's root is mounted in this container
   */
  static List<Link> of(Path root, List<String> libraries) {
    Set<Link> links = new LinkedHashSet<>();
    for (String library : libraries) {
      Matcher parts = LIBRARY.matcher(library);
      if (parts.matches()) {
        links.addAll(alwaysNeeded(parts.group(1), parts.group(2), parts.group(3)));
        links.addAll(found(root, parts.group(1), parts.group(2), parts.group(3)));
      }
    }
    return List.copyOf(links);
  }

  private static List<Link> alwaysNeeded(String folder, String library, String bare) {
    return switch (bare) {
      case "libcuda.so", "libnvidia-opticalflow.so" ->
          List.of(new Link(bare + ".1", folder + bare));
      case "libGLX_nvidia.so" -> List.of(new Link(library, folder + "libGLX_indirect.so.0"));
      default -> List.of();
    };
  }

  private static List<Link> found(Path root, String folder, String library, String bare) {
    List<Link> links = new ArrayList<>();
    String target = library;
    for (int number = 0; number <= SONAME_MAX; number++) {
      String soname = bare + "." + number;
      if (linksTo(root, folder + soname, folder + library)) {
        links.add(new Link(library, folder + soname));
        target = soname;
      }
    }
    if (linksTo(root, folder + bare, folder + library)) {
      links.add(new Link(target, folder + bare));
    }
    return links;
  }

  private static boolean linksTo(Path root, String link, String library) {
    Path path = DriverFiles.at(root, link);
    try {
      return Files.isSymbolicLink(path)
          && Files.isSameFile(
              DriverFolders.resolve(root, path),
              DriverFolders.resolve(root, DriverFiles.at(root, library)));
    } catch (IOException leadsNowhere) {
      return false;
    }
  }
}
