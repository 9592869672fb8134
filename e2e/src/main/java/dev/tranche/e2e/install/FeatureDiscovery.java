package dev.tranche.e2e.install;

import dev.tranche.e2e.gpu.NodeGpus;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;

/** NVIDIA's GPU Feature Discovery, on a node's simulated GPUs. */
public final class FeatureDiscovery {
  private FeatureDiscovery() {}

  /**
   * Returns the labels that it would have for the node without a config file, as the GPU Operator
   * runs it by default.
   *
   * @param programs the folder that {@code e2e/build.sh nvidia-plugin} has made
   */
  public static Map<String, String> labels(Path programs, NodeGpus gpus) {
    Path library = gpus.libraryFolder();
    Path output = library.resolve("gfd.labels");
    var command =
        new ProcessBuilder(
            programs.resolve("gpu-feature-discovery").toString(),
            "--oneshot",
            "--no-timestamp",
            "--use-node-feature-api=false",
            "--output-file=" + output);
    command.environment().put("LD_PRELOAD", programs.resolve("missing.so").toString());
    command.environment().put("LD_LIBRARY_PATH", library.toString());
    command.redirectErrorStream(true);
    try {
      Shell.run(command).orFail();
      return Files.readAllLines(output).stream()
          .map(line -> line.split("=", 2))
          .collect(Collectors.toMap(pair -> pair[0], pair -> pair[1]));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
