package dev.tranche.extender.readapi;

import dev.tranche.extender.readapi.json.Json;
import io.vertx.core.buffer.Buffer;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

/** The API's OpenAPI document, which people write as YAML and clients read as JSON. */
final class OpenApiDocument {
  /** As the API serves it. Whoever uses it first reads the file, so not on an event loop. */
  static final Buffer JSON = read();

  private OpenApiDocument() {}

  private static Buffer read() {
    var options = new LoaderOptions();
    // The file is ours. Types are named once and used many times.
    options.setMaxAliasesForCollections(Integer.MAX_VALUE);
    try (InputStream in = OpenApiDocument.class.getResourceAsStream("openapi.yaml")) {
      return Json.buffer(
          new Yaml(new SafeConstructor(options)).load(Objects.requireNonNull(in, "openapi.yaml")));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
