package dev.tranche.e2e.release;

import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** The steps of {@code ./release} that are more than the call of a tool. */
public final class Release {
  /** The lock file of the web page's packages, below the sources. */
  static final String NPM_LOCK = "extender/readapi/src/main/web/package-lock.json";

  private Release() {}

  public static void main(String[] args) throws IOException {
    try {
      run(args);
    } catch (IllegalArgumentException e) {
      System.err.println("error: " + e.getMessage());
      System.exit(1);
    }
  }

  private static void run(String[] args) throws IOException {
    switch (args[0]) {
      case "layout" -> layout(args);
      case "join" -> OciLayout.join(Path.of(args[1]), layouts(args));
      case "bom" -> bom(args);
      default -> throw new IllegalArgumentException("Release has no step " + args[0]);
    }
  }

  /** layout FOLDER NAME ARCHITECTURE CREATED CONFIG LAYER… */
  private static void layout(String[] args) throws IOException {
    JsonObject all = new JsonObject(Files.readString(Path.of(args[5])));
    JsonObject config = new JsonObject();
    for (String key : List.of("User", "Env", "Labels")) {
      config.put(key, all.getValue(key));
    }
    OciLayout.write(
        Path.of(args[1]),
        new OciLayout.Image(args[2], args[3], args[4], config),
        Stream.of(args).skip(6).map(Path::of).toList());
  }

  private static List<OciLayout> layouts(String[] args) {
    return Arrays.stream(args).skip(2).map(folder -> new OciLayout(Path.of(folder))).toList();
  }

  /** bom SOURCES ROOT MODULES NAME VERSION CREATED BOM LICENCES */
  private static void bom(String[] args) throws IOException {
    Path sources = Path.of(args[1]);
    Path image = Path.of(args[2]);
    Bom bom = new Bom();
    for (String part : List.of("webhook", "extender", "node-plugin")) {
      bom.addMaven(json(sources.resolve(part).resolve("target/bom.json")));
    }
    bom.checkJars(image.resolve("opt/tranche/lib"));
    bom.addNpm(json(sources.resolve(NPM_LOCK)));
    bom.addJava(Files.readString(Path.of(System.getProperty("java.home"), "release")));
    bom.addLibffi();
    try (var packages = Files.newDirectoryStream(image.resolve("var/lib/dpkg/status.d"))) {
      for (Path status : packages) {
        bom.addDebian(Files.readString(status));
      }
    }
    Files.writeString(
        Path.of(args[7]), bom.json(args[4], args[5], args[6]).encodePrettily() + "\n");
    Files.writeString(Path.of(args[8]), Licences.text(bom.components(), Path.of(args[3])));
  }

  private static JsonObject json(Path file) throws IOException {
    return new JsonObject(Files.readString(file));
  }
}
