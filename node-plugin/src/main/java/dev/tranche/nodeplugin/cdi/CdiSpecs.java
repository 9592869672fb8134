package dev.tranche.nodeplugin.cdi;

import dev.tranche.nodeplugin.config.AllocateOptions;
import dev.tranche.nodeplugin.config.AllocateOptions.DeviceClass;
import dev.tranche.nodeplugin.gpu.HostNodes;
import dev.tranche.nodeplugin.limit.NodeLimits;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Builds the CDI specs of a node: one for its GPUs, and one for each other class of devices.
 *
 * @param memoryLimits name the hook that limits a container's memory
 */
public record CdiSpecs(
    AllocateOptions options,
    HostNodes nodes,
    DriverFiles files,
    String driverVersion,
    boolean memoryLimits) {
  private static final List<String> READ_ONLY =
      List.of("ro", "nosuid", "nodev", "rbind", "rprivate");
  private static final List<String> SOCKET =
      List.of("nosuid", "nodev", "rbind", "rprivate", "noexec");

  private static final String CREATE_CONTAINER = "createContainer";

  // The nvidia runtime must not add GPUs of its own to those that CDI has injected.
  private static final String VOID = "NVIDIA_VISIBLE_DEVICES=void";

  /**
   * Returns the spec of every class that has a device.
   *
   * @param gpus that NVML has found, including MIG devices
   */
  public List<CdiSpec> of(List<GpuInfo> gpus) {
    List<CdiSpec> specs = new ArrayList<>();
    Map<String, JsonObject> devices = devices(gpus);
    if (!devices.isEmpty()) {
      specs.add(new CdiSpec("gpu", devices, common()));
    }
    Map<String, JsonObject> channels = new LinkedHashMap<>();
    for (int channel : nodes.imexChannels(options)) {
      List<String> node = List.of(HostNodes.imexNode(channel));
      channels.put(String.valueOf(channel), edits(nodes(node), List.of(), List.of()));
    }
    if (!channels.isEmpty()) {
      specs.add(new CdiSpec("imex-channel", channels, new JsonObject()));
    }
    nodes.additional(options).forEach(of -> specs.add(additional(of)));
    return specs;
  }

  /** Returns the devices by index or uuid, as NVIDIA's plugin names them. */
  private Map<String, JsonObject> devices(List<GpuInfo> gpus) {
    Map<String, JsonObject> devices = new LinkedHashMap<>();
    for (GpuInfo gpu : gpus) {
      if (!(gpu.mig() instanceof Mig.On)) {
        devices.put(
            options.byIndex() ? gpu.number() : gpu.uuid(),
            edits(nodes(gpu.nodes()), List.of(), limitHooks(gpu)));
      }
    }
    return devices;
  }

  /** Returns changes to a container, of which CDI allows no empty list. */
  private static JsonObject edits(
      List<JsonObject> nodes, List<JsonObject> mounts, List<JsonObject> hooks) {
    JsonObject edits = new JsonObject();
    putUnlessEmpty(edits, "deviceNodes", nodes);
    putUnlessEmpty(edits, "mounts", mounts);
    putUnlessEmpty(edits, "hooks", hooks);
    return edits;
  }

  private static void putUnlessEmpty(JsonObject json, String key, List<JsonObject> values) {
    if (!values.isEmpty()) {
      json.put(key, values);
    }
  }

  /** Returns NVIDIA's hook, which does nothing without the variables of Allocate's answer. */
  private List<JsonObject> limitHooks(GpuInfo gpu) {
    List<JsonObject> hooks = new ArrayList<>();
    if (memoryLimits && gpu.migDevice().isEmpty()) {
      addHook(
          hooks,
          "createRuntime",
          NodeLimits.HOOK,
          List.of("--driver-root", options.driverRoot(), "--gpu-id", gpu.uuid()));
    }
    return hooks;
  }

  private List<JsonObject> nodes(List<String> paths) {
    String root = nodes.devRoot(options);
    return paths.stream()
        .map(
            path ->
                root.isEmpty()
                    ? JsonObject.of("path", path)
                    : JsonObject.of("path", path, "hostPath", root + path))
        .toList();
  }

  private CdiSpec additional(DeviceClass of) {
    List<String> mounted = of == DeviceClass.GDS ? files.gds() : List.of();
    List<JsonObject> mounts = mounted.stream().map(file -> mount(file, READ_ONLY)).toList();
    JsonObject edits =
        edits(nodes(nodes.additional().getOrDefault(of, List.of())), mounts, List.of());
    return new CdiSpec(of.text(), Map.of("all", edits), JsonObject.of("env", List.of(VOID)));
  }

  private JsonObject common() {
    List<String> env = new ArrayList<>();
    List<String> folders = files.libraries().stream().map(CdiSpecs::folder).distinct().toList();
    files.libraries().stream()
        .filter(CdiSpecs::isCuda)
        .findFirst()
        .ifPresent(cuda -> env.add("NVIDIA_CTK_LIBCUDA_DIR=" + folder(cuda)));
    env.add(VOID);
    return edits(nodes(nodes.control()), mounts(), hooks(folders)).put("env", env);
  }

  private List<JsonObject> mounts() {
    List<JsonObject> mounts = new ArrayList<>();
    files.libraries().forEach(file -> mounts.add(mount(file, READ_ONLY)));
    files.sockets().forEach(file -> mounts.add(mount(file, SOCKET)));
    files.firmware().forEach(file -> mounts.add(mount(file, READ_ONLY)));
    files.programs().forEach(file -> mounts.add(mount(file, READ_ONLY)));
    GraphicsFiles graphics = files.graphics();
    graphics.libraries().forEach(file -> mounts.add(mount(file, READ_ONLY)));
    graphics.configs().forEach(file -> mounts.add(mount(file.from(), file.to(), READ_ONLY)));
    return mounts;
  }

  private JsonObject mount(String path, List<String> how) {
    return mount(path, path, how);
  }

  private JsonObject mount(String from, String to, List<String> how) {
    String root = options.driverRoot();
    String prefix = root.endsWith("/") ? root.substring(0, root.length() - 1) : root;
    return JsonObject.of("hostPath", prefix + from, "containerPath", to, "options", how);
  }

  private List<JsonObject> hooks(List<String> folders) {
    List<JsonObject> hooks = new ArrayList<>();
    addLinks(hooks, files.graphics().links());
    if (!folders.isEmpty()) {
      List<String> listed = new ArrayList<>();
      folders.forEach(folder -> listed.addAll(List.of("--folder", folder)));
      addLinks(hooks, files.links());
      addHook(
          hooks,
          CREATE_CONTAINER,
          "enable-cuda-compat",
          List.of("--host-driver-version=" + driverVersion));
      addHook(hooks, CREATE_CONTAINER, "update-ldcache", listed);
    }
    addHook(hooks, CREATE_CONTAINER, "disable-device-node-modification", List.of());
    addHook(hooks, CREATE_CONTAINER, "update-application-profile", List.of());
    return hooks;
  }

  private void addLinks(List<JsonObject> hooks, List<DriverFiles.Link> links) {
    List<String> args = new ArrayList<>();
    links.forEach(link -> args.addAll(List.of("--link", link.target() + "::" + link.path())));
    if (!args.isEmpty()) {
      addHook(hooks, CREATE_CONTAINER, "create-symlinks", args);
    }
  }

  private void addHook(List<JsonObject> hooks, String stage, String name, List<String> args) {
    if (!options.namesHook(name)) {
      return;
    }
    String path = options.cdiHookPath();
    String program = path.substring(path.lastIndexOf('/') + 1);
    List<String> arguments = new ArrayList<>(List.of(program));
    if (program.equals("nvidia-ctk")) {
      arguments.add("hook");
    }
    arguments.add(name);
    arguments.addAll(args);
    hooks.add(
        JsonObject.of("hookName", stage)
            .put("path", path)
            .put("args", arguments)
            .put("env", List.of("NVIDIA_CTK_DEBUG=false")));
  }

  private static String folder(String path) {
    return path.substring(0, path.lastIndexOf('/'));
  }

  static boolean isCuda(String library) {
    return library.contains("/libcuda.so.");
  }
}
