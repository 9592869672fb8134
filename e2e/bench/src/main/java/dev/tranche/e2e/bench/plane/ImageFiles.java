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
 * Our image's folder, copied to this machine: its Java runtime, jars, options and class caches. A
 * process thus runs as shipped, but outside a container.
 */
public final class ImageFiles {
  private static final String FOLDER = "/opt/tranche";

  private final Path folder;

  private ImageFiles(Path folder) {
    this.folder = folder;
  }

  /** Returns the files of our image, which are copied once for each image. */
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

  /** Returns the command that the image runs for a part, with the paths of the copied folder. */
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
   * Returns the environment variables that the image sets, without {@code PATH}.
   *
   * @param root the root of the repository
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
