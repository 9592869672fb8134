package dev.tranche.e2e.install;

import java.io.IOException;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;

/** What the commands at the top of the repository have built: {@code target/e2e.properties}. */
public record Artifacts(Path root, String image, Path imageTar, Path fakeNvml) {

  /**
   * @param root of the repository
   * @throws IllegalStateException if nothing has been built
   */
  public static Artifacts of(Path root) {
    Path file = root.resolve("target/e2e.properties");
    var built = new Properties();
    try (Reader reader = Files.newBufferedReader(file)) {
      built.load(reader);
    } catch (IOException e) {
      throw new UncheckedIOException(file + " is missing: ./check and ./demo write it", e);
    }
    return new Artifacts(
        root,
        value(built, "image.tag"),
        Path.of(value(built, "image.tar")),
        Path.of(value(built, "fakenvml")));
  }

  private static String value(Properties built, String key) {
    String value = built.getProperty(key);
    if (value == null) {
      throw new IllegalStateException(
          "target/e2e.properties lacks " + key + ": remove the file and run the command again");
    }
    return value;
  }

  public Path chart() {
    return root.resolve("charts/tranche");
  }
}
