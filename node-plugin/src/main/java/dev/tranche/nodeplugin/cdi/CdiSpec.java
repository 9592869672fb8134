package dev.tranche.nodeplugin.cdi;

import dev.tranche.nodeplugin.file.AtomicFile;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * One CDI spec: the devices of one class, and the common changes to a container that gets any of
 * them.
 *
 * @param devices by name
 */
public record CdiSpec(String deviceClass, Map<String, Edits> devices, Edits common) {
  public static final String VENDOR = "k8s.device-plugin.nvidia.com";

  // The first version that allows names that begin with a digit, and host paths of device nodes.
  private static final String VERSION = "0.5.0";
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?");

  /**
   * Changes to a container.
   *
   * @param nodes device nodes
   */
  public record Edits(
      List<String> env, List<Node> nodes, List<BindMount> mounts, List<Hook> hooks) {
    public static final Edits NONE = new Edits(List.of(), List.of(), List.of(), List.of());

    public Edits {
      env = List.copyOf(env);
      nodes = List.copyOf(nodes);
      mounts = List.copyOf(mounts);
      hooks = List.copyOf(hooks);
    }

    /** Returns edits of device nodes only. */
    static Edits of(List<Node> nodes) {
      return new Edits(List.of(), nodes, List.of(), List.of());
    }

    boolean empty() {
      return env.isEmpty() && nodes.isEmpty() && mounts.isEmpty() && hooks.isEmpty();
    }
  }

  /**
   * A device node.
   *
   * @param path in the container
   */
  public record Node(String path, String hostPath) {}

  /** A file or socket of the host's, at the same place in the container unless the root differs. */
  public record BindMount(String hostPath, String containerPath, List<String> options) {
    public BindMount {
      options = List.copyOf(options);
    }
  }

  /**
   * A program on the host that the runtime runs before the container starts.
   *
   * @param stage createRuntime: among the host's files; createContainer: among the container's,
   *     before it switches to its root
   */
  public record Hook(String stage, String path, List<String> args) {
    public Hook {
      args = List.copyOf(args);
    }
  }

  public CdiSpec {
    devices = new LinkedHashMap<>(devices);
    if (devices.isEmpty()) {
      throw new IllegalArgumentException(deviceClass + " has no devices, and CDI requires one");
    }
    devices.forEach(CdiSpec::check);
  }

  private static void check(String name, Edits edits) {
    if (!NAME.matcher(name).matches()) {
      throw new IllegalArgumentException("\"" + name + "\" is not a valid name of a CDI device");
    }
    if (edits.empty()) {
      throw new IllegalArgumentException(name + " changes nothing, and CDI requires an edit");
    }
  }

  /** Returns its file name in a folder of specs. */
  public String fileName() {
    return VENDOR + "-" + deviceClass + ".json";
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
    devices.forEach(
        (name, edits) -> all.add(JsonObject.of("name", name, "containerEdits", json(edits))));
    JsonObject spec =
        JsonObject.of("cdiVersion", VERSION, "kind", VENDOR + "/" + deviceClass, "devices", all);
    if (!common.empty()) {
      spec.put("containerEdits", json(common));
    }
    return spec.encode() + "\n";
  }

  private static JsonObject json(Edits edits) {
    JsonObject json = new JsonObject();
    putUnlessEmpty(json, "env", edits.env());
    putUnlessEmpty(json, "deviceNodes", edits.nodes().stream().map(CdiSpec::json).toList());
    putUnlessEmpty(json, "mounts", edits.mounts().stream().map(CdiSpec::json).toList());
    putUnlessEmpty(json, "hooks", edits.hooks().stream().map(CdiSpec::json).toList());
    return json;
  }

  private static JsonObject json(Node node) {
    JsonObject json = JsonObject.of("path", node.path());
    return node.path().equals(node.hostPath()) ? json : json.put("hostPath", node.hostPath());
  }

  private static JsonObject json(BindMount mount) {
    return JsonObject.of("hostPath", mount.hostPath())
        .put("containerPath", mount.containerPath())
        .put("options", mount.options());
  }

  private static JsonObject json(Hook hook) {
    return JsonObject.of("hookName", hook.stage())
        .put("path", hook.path())
        .put("args", hook.args())
        .put("env", List.of("NVIDIA_CTK_DEBUG=false"));
  }

  private static void putUnlessEmpty(JsonObject json, String key, List<?> values) {
    if (!values.isEmpty()) {
      json.put(key, values);
    }
  }
}
