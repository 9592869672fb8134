package dev.tranche.e2e.verify;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/** Compares the CDI spec that the plugin writes with that of NVIDIA's toolkit. */
final class CdiChecks {
  private static final String AREA = "CDI";
  private static final String KIND = "k8s.device-plugin.nvidia.com/gpu";

  private final VerifyOptions options;
  private final Report report;

  CdiChecks(VerifyOptions options, Report report) {
    this.options = options;
    this.report = report;
  }

  /**
   * Checks the spec that the plugin wrote.
   *
   * @param folder the folder of its specs
   */
  void run(Path folder) throws IOException, InterruptedException {
    Optional<JsonObject> ours = ours(folder);
    if (ours.isEmpty()) {
      report.add(AREA, "spec", CheckStatus.FAILED, "the plugin has written no spec of " + KIND);
      return;
    }
    Map<String, Set<String>> parts = parts(ours.get());
    exists(ours.get(), parts);
    compare(parts);
  }

  private static Optional<JsonObject> ours(Path folder) throws IOException {
    if (!Files.isDirectory(folder)) {
      return Optional.empty();
    }
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.filter(f -> f.toString().endsWith(".json")).toList()) {
        JsonObject spec = new JsonObject(Files.readString(file));
        if (KIND.equals(spec.getString("kind"))) {
          return Optional.of(spec);
        }
      }
    }
    return Optional.empty();
  }

  /** Returns the parts of a spec that can be compared, by name. */
  private static Map<String, Set<String>> parts(JsonObject spec) {
    Map<String, Set<String>> parts = new LinkedHashMap<>();
    JsonObject common = spec.getJsonObject("containerEdits", new JsonObject());
    parts.put("devices", new TreeSet<>());
    for (JsonObject device : objects(spec, "devices")) {
      String name = device.getString("name", "");
      // The toolkit's device for all GPUs, which no device plugin gives to a container.
      if (!name.equals("all")) {
        parts.get("devices").add(name);
        JsonObject edits = device.getJsonObject("containerEdits", new JsonObject());
        parts.put("device nodes of " + name, values(edits, "deviceNodes", "path"));
      }
    }
    parts.put("common device nodes", values(common, "deviceNodes", "path"));
    Set<String> mounts = values(common, "mounts", "containerPath");
    // The toolkit's way to say that no volume mount names GPUs.
    mounts.remove("/var/run/nvidia-container-devices/void");
    parts.put("mounts", mounts);
    parts.put("hooks", hooks(common));
    Set<String> env = new TreeSet<>();
    common.getJsonArray("env", new JsonArray()).forEach(value -> env.add(String.valueOf(value)));
    parts.put("environment", env);
    return parts;
  }

  private static List<JsonObject> objects(JsonObject of, String key) {
    return of.getJsonArray(key, new JsonArray()).stream()
        .filter(JsonObject.class::isInstance)
        .map(JsonObject.class::cast)
        .toList();
  }

  private static Set<String> values(JsonObject edits, String list, String key) {
    Set<String> values = new TreeSet<>();
    objects(edits, list).forEach(entry -> values.add(entry.getString(key, "")));
    return values;
  }

  // nvidia-ctk hook NAME …, or nvidia-cdi-hook NAME …
  private static Set<String> hooks(JsonObject edits) {
    Set<String> names = new TreeSet<>();
    for (JsonObject hook : objects(edits, "hooks")) {
      List<String> args =
          new ArrayList<>(
              hook.getJsonArray("args", new JsonArray()).stream().map(String::valueOf).toList());
      args.removeIf(arg -> arg.equals("hook"));
      names.add(args.size() > 1 ? args.get(1) : String.join(" ", args));
    }
    return names;
  }

  private void exists(JsonObject spec, Map<String, Set<String>> parts) {
    List<String> lacking =
        objects(spec.getJsonObject("containerEdits", new JsonObject()), "mounts").stream()
            .map(mount -> mount.getString("hostPath", ""))
            .filter(path -> !Files.exists(Path.of(path)))
            .toList();
    boolean cuda =
        parts.getOrDefault("mounts", Set.of()).stream().anyMatch(m -> m.contains("/libcuda.so."));
    String counts =
        "%d devices, %d mounts, %d hooks"
            .formatted(
                parts.getOrDefault("devices", Set.of()).size(),
                parts.getOrDefault("mounts", Set.of()).size(),
                parts.getOrDefault("hooks", Set.of()).size());
    if (!lacking.isEmpty()) {
      report.add(
          new Check(
              AREA,
              "spec",
              CheckStatus.FAILED,
              counts + "; mounts that the host does not have",
              lacking));
    } else {
      report.add(
          AREA,
          "spec",
          cuda ? CheckStatus.OK : CheckStatus.DIFFERS,
          cuda ? counts : counts + "; the driver's libcuda.so is not among the mounts");
    }
  }

  private void compare(Map<String, Set<String>> ours) throws InterruptedException {
    String name = "beside nvidia-ctk cdi generate";
    Optional<Tool> toolkit = Tool.find("nvidia-ctk");
    if (toolkit.isEmpty()) {
      report.add(AREA, name, CheckStatus.NOT_AVAILABLE, "there is no nvidia-ctk on the PATH");
      return;
    }
    try {
      differences(name, ours, parts(new JsonObject(generate(toolkit.get()))));
    } catch (IOException | RuntimeException e) {
      report.add(
          AREA, name, CheckStatus.NOT_AVAILABLE, "nvidia-ctk writes no spec: " + e.getMessage());
    }
  }

  private String generate(Tool toolkit) throws IOException, InterruptedException {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "cdi",
                "generate",
                "--format=json",
                "--vendor=" + KIND.substring(0, KIND.indexOf('/')),
                "--class=gpu",
                "--device-name-strategy=uuid"));
    if (!options.driverRoot().toString().equals("/")) {
      arguments.add("--driver-root=" + options.driverRoot());
    }
    return toolkit.run(arguments.toArray(String[]::new));
  }

  private void differences(
      String name, Map<String, Set<String>> ours, Map<String, Set<String>> theirs) {
    List<String> details = new ArrayList<>();
    Set<String> keys = new TreeSet<>(ours.keySet());
    keys.addAll(theirs.keySet());
    for (String key : keys) {
      Set<String> mine = ours.getOrDefault(key, Set.of());
      Set<String> nvidias = theirs.getOrDefault(key, Set.of());
      only(key, "ours only", mine, nvidias, details);
      only(key, "nvidia-ctk's only", nvidias, mine, details);
    }
    report.add(
        new Check(
            AREA,
            name,
            details.isEmpty() ? CheckStatus.OK : CheckStatus.DIFFERS,
            details.isEmpty()
                ? "the same devices, nodes, mounts, hooks and environment"
                : details.size() + " differences",
            details));
  }

  private static void only(
      String key, String whose, Set<String> one, Set<String> other, List<String> details) {
    Set<String> rest = new TreeSet<>(one);
    rest.removeAll(other);
    if (!rest.isEmpty()) {
      details.add(key + ", " + whose + ": " + String.join(", ", rest));
    }
  }
}
