package dev.tranche.e2e.demo;

import dev.tranche.e2e.gpu.NodeGpus;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** {@code ./demo load NODE GPU PERCENT}: changes what the simulated NVML of a node reports. */
final class SimulatedLoad {
  private static final String STATE_FILE = "driver/usr/lib64/gpus.state";

  private SimulatedLoad() {}

  /**
   * Makes a GPU as busy as this.
   *
   * @throws IllegalArgumentException if a word is wrong; its message is for the user
   */
  static void set(Path folder, String node, String gpu, String percent) throws IOException {
    Path state = folder.resolve(node).resolve(STATE_FILE);
    List<String> nodes = nodes(folder);
    if (!nodes.contains(node)) {
      throw new IllegalArgumentException(
          nodes.isEmpty()
              ? "no demo runs here; start it with ./demo"
              : "no node \"%s\"; there are %s".formatted(node, String.join(", ", nodes)));
    }
    if (!percent.matches("\\d{1,3}") || Integer.parseInt(percent) > 100) {
      throw new IllegalArgumentException(
          "\"%s\" is no load; allowed are 0 to 100, in percent".formatted(percent));
    }
    List<String> lines = Files.readAllLines(state);
    List<String> gpus = lines.stream().filter(line -> line.startsWith("gpu ")).toList();
    String prefix = "gpu index=" + gpu + " ";
    if (gpus.stream().noneMatch(line -> line.startsWith(prefix))) {
      throw new IllegalArgumentException(
          "%s has no GPU \"%s\"; it has 0 to %d".formatted(node, gpu, gpus.size() - 1));
    }
    NodeGpus.write(
        state,
        lines.stream()
            .map(
                line ->
                    line.startsWith(prefix) ? line.replaceAll(" sm=\\d+", " sm=" + percent) : line)
            .toList());
  }

  private static List<String> nodes(Path folder) throws IOException {
    if (!Files.isDirectory(folder)) {
      return List.of();
    }
    try (Stream<Path> files = Files.list(folder)) {
      return files
          .filter(file -> Files.exists(file.resolve(STATE_FILE)))
          .map(file -> file.getFileName().toString())
          .sorted()
          .collect(Collectors.toList());
    }
  }
}
