package dev.tranche.e2e;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** The Java files of modules. */
final class Sources {
  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

  private Sources() {}

  /**
   * Returns the files of a module and of the modules in its folder.
   *
   * @param set {@code main} or {@code test}
   */
  static List<Path> of(String module, String set) throws IOException {
    Path sources = Path.of("src", set, "java");
    var found = new ArrayList<Path>();
    try (Stream<Path> folders = Files.list(ROOT.resolve(module))) {
      for (Path folder : Stream.concat(Stream.of(ROOT.resolve(module)), folders).toList()) {
        if (Files.isDirectory(folder.resolve(sources))) {
          try (Stream<Path> files = Files.walk(folder.resolve(sources))) {
            files.filter(file -> file.toString().endsWith(".java")).forEach(found::add);
          }
        }
      }
    }
    return found;
  }
}
