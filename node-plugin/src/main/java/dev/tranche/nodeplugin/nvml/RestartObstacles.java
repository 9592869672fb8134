package dev.tranche.nodeplugin.nvml;

import dev.tranche.nodeplugin.file.FileAccess;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;
import java.util.stream.Stream;

/** Finds what would prevent a restart of NVML although the open session still works. */
final class RestartObstacles {
  private static final String CONTROL_NODE = "nvidiactl";
  private static final String LIBRARY = "libnvidia-ml.so";
  private static final String REPLACED = " (deleted)";

  private RestartObstacles() {}

  /**
   * Finds the first obstacle.
   *
   * @param maps the kernel's list of this process's memory mappings
   */
  static Optional<String> find(Path dev, Path maps) {
    return closed(dev.resolve(CONTROL_NODE)).or(() -> replaced(maps));
  }

  // Happens after systemctl daemon-reload, which takes devices from containers that have them open.
  private static Optional<String> closed(Path node) {
    if (!FileAccess.exists(node)) {
      return Optional.empty();
    }
    try (FileChannel open =
        FileChannel.open(node, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      return Optional.empty();
    } catch (IOException e) {
      return Optional.of(node + " cannot be opened any more: " + e);
    }
  }

  // The library of another driver version does not start with the kernel module that is loaded.
  private static Optional<String> replaced(Path maps) {
    try (Stream<String> lines = Files.lines(maps)) {
      return lines
          .filter(line -> line.contains(LIBRARY) && line.endsWith(REPLACED))
          .findFirst()
          .map(line -> "the driver's " + LIBRARY + " was replaced since it was loaded");
    } catch (IOException e) {
      return Optional.empty();
    }
  }
}
