package dev.tranche.nodeplugin.cdi;

import dev.tranche.nodeplugin.config.AllocateOptions;
import dev.tranche.nodeplugin.file.AtomicFile;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;

/**
 * One CDI spec: the devices of one class, and the common changes to a container that gets any of
 * them.
 *
 * @param devices changes to a container by the device's name; at least one
 */
public record CdiSpec(String deviceClass, Map<String, JsonObject> devices, JsonObject common) {
  // The first version that allows names that begin with a digit, and host paths of device nodes.
  private static final String VERSION = "0.5.0";

  /** Returns its file name in a folder of specs. */
  public String fileName() {
    return AllocateOptions.CDI_VENDOR + "-" + deviceClass + ".json";
  }

  /**
   * Writes the spec to the folder in which container runtimes look for CDI specs. They may read
   * files that end in .json or .yaml at any time, so a file is never half written. The file stays
   * when the plugin ends, since containers may restart meanwhile. Blocks.
   */
  public void writeTo(Path folder) throws IOException {
    new AtomicFile(folder.resolve(fileName())).write(json());
  }

  public String json() {
    JsonArray all = new JsonArray();
    devices.forEach((name, edits) -> all.add(JsonObject.of("name", name, "containerEdits", edits)));
    JsonObject spec =
        JsonObject.of(
            "cdiVersion",
            VERSION,
            "kind",
            AllocateOptions.CDI_VENDOR + "/" + deviceClass,
            "devices",
            all);
    if (!common.isEmpty()) {
      spec.put("containerEdits", common);
    }
    return spec.encode() + "\n";
  }
}
