package dev.tranche.extender.http;

import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * What one release of kube-scheduler sent, as {@code e2e/recorded/record.sh} wrote it down.
 *
 * @param folder of that release
 */
public record Recorded(Path folder) {
  private static final Path ALL = Path.of("src/test/resources/extender-v1");

  public static List<Recorded> releases() {
    try (var folders = Files.list(ALL)) {
      return folders.filter(Files::isDirectory).sorted().map(Recorded::new).toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public byte[] body(String name) {
    try {
      return Files.readAllBytes(folder.resolve(name + ".json"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  JsonObject json(String name) {
    return new JsonObject(new String(body(name), StandardCharsets.UTF_8));
  }

  /** The API server's, so another in each recording. */
  String uid(String name) {
    return json(name).getJsonObject("Pod").getJsonObject("metadata").getString("uid");
  }

  @Override
  public String toString() {
    return folder.getFileName().toString();
  }
}
