package dev.tranche.e2e.install;

import java.io.IOException;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;

/** What the repository's commands have built, as listed in {@code target/e2e.properties}. */
public record Artifacts(Path root, String image, Path imageTar, Path fakeNvml) {
  private static final String FILE = "target/e2e.properties";

  /**
   * @param root the root of the repository
   * @throws UncheckedIOException if nothing has been built
   * @throws IllegalStateException if the file lacks an entry
   */
  public static Artifacts of(Path root) {
    var built = built(root);
    return new Artifacts(
        root,
        value(built, "image.tag"),
        Path.of(value(built, "image.tar")),
        Path.of(value(built, "fakenvml")));
  }

  private static Properties built(Path root) {
    Path file = root.resolve(FILE);
    var built = new Properties();
    try (Reader reader = Files.newBufferedReader(file)) {
      built.load(reader);
      return built;
    } catch (IOException e) {
      throw new UncheckedIOException(file + " is missing: ./check and ./demo write it", e);
    }
  }

  /** A program for this machine: {@code helm} or {@code kubectl}. */
  public Path tool(String name) {
    return Path.of(value(built(root), name));
  }

  /** A folder with the programs {@code etcd} and {@code kube}. */
  public Path kubernetes() {
    return tool("kubectl").resolveSibling("");
  }

  private static String value(Properties built, String key) {
    String value = built.getProperty(key);
    if (value == null) {
      throw new IllegalStateException(
          FILE + " lacks " + key + ": remove the file and run the command again");
    }
    return value;
  }

  public Path chart() {
    return root.resolve("charts/tranche");
  }
}
