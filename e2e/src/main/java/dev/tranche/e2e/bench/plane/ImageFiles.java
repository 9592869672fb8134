package dev.tranche.e2e.bench.plane;

import dev.tranche.e2e.install.Artifacts;
import dev.tranche.e2e.install.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Our image's folder, copied out of it: its Java runtime, jars, options and caches of loaded
 * classes. A process is measured as it is shipped, yet beside us.
 */
public final class ImageFiles {
  private static final String FOLDER = "/opt/tranche";

  private final Path folder;

  private ImageFiles(Path folder) {
    this.folder = folder;
  }

  /** Copied once for each image. */
  public static ImageFiles of(Artifacts artifacts) throws IOException {
    String name = artifacts.image().replaceAll("[^A-Za-z0-9.]", "-");
    Path folder = artifacts.root().resolve("target/bench-image").resolve(name);
    if (!Files.exists(folder)) {
      Path copy = Files.createDirectories(folder.resolveSibling(name + ".part"));
      String container = Shell.docker("create", artifacts.image(), "none");
      try {
        Shell.docker("cp", "-q", container + ":" + FOLDER + "/.", copy.toString());
      } finally {
        Shell.docker("rm", container);
      }
      Files.move(copy, folder);
    }
    return new ImageFiles(folder.toAbsolutePath());
  }

  /** The command that the image runs for a part; its jars may lie elsewhere than they were. */
  public List<String> command(String part) throws IOException {
    var command = new ArrayList<String>();
    command.add(folder.resolve("runtime/bin/java").toString());
    Files.readAllLines(folder.resolve("etc/" + part + ".args")).stream()
        .filter(line -> !line.isBlank() && !line.startsWith("#"))
        .map(line -> line.replace(FOLDER, folder.toString()))
        .forEach(command::add);
    return command;
  }

  /**
   * What the image sets for its programs, but for where they are.
   *
   * @param root of the repository
   */
  public static Map<String, String> environment(Path root) throws IOException {
    var environment = new HashMap<String, String>();
    for (String line : Files.readAllLines(root.resolve("deploy/image/Dockerfile"))) {
      if (line.startsWith("ENV ") && !line.startsWith("ENV PATH=")) {
        String[] variable = line.substring(4).split("=", 2);
        environment.put(variable[0], variable[1]);
      }
    }
    return environment;
  }
}
