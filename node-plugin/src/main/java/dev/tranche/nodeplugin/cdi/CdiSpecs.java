package dev.tranche.nodeplugin.cdi;

import static java.util.stream.Collectors.toUnmodifiableSet;

import dev.tranche.nodeplugin.config.AllocateOptions;
import dev.tranche.nodeplugin.config.AllocateOptions.DeviceClass;
import dev.tranche.nodeplugin.gpu.HostNodes;
import dev.tranche.nodeplugin.limit.NodeLimits;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The CDI specs of a node: one for its GPUs, and one for each other class of devices.
 *
 * @param gpus that NVML has found, including MIG devices
 * @param memoryLimits name the hook that limits a container's memory
 */
public record CdiSpecs(
    AllocateOptions options,
    List<GpuInfo> gpus,
    HostNodes nodes,
    String driverVersion,
    boolean memoryLimits) {
  private static final List<String> READ_ONLY =
      List.of("ro", "nosuid", "nodev", "rbind", "rprivate");
  private static final List<String> SOCKET =
      List.of("nosuid", "nodev", "rbind", "rprivate", "noexec");

  private static final String CREATE_CONTAINER = "createContainer";

  // The nvidia runtime must not add GPUs of its own to those that CDI has injected.
  private static final String VOID = "NVIDIA_VISIBLE_DEVICES=void";

  /** Returns the uuids of those GPUs that these specs cover. */
  public Set<String> coveredUuids(List<GpuInfo> others) {
    return others.stream().filter(gpus::contains).map(GpuInfo::uuid).collect(toUnmodifiableSet());
  }

  /** Returns the spec of every class that has a device. */
  public List<CdiSpec> of(DriverFiles files) {
    List<CdiSpec> specs = new ArrayList<>();
    Map<String, JsonObject> devices = devices();
    if (!devices.isEmpty()) {
      specs.add(new CdiSpec("gpu", devices, common(files)));
    }
    if (nodes.givesImexChannel(options)) {
      Edits edits = new Edits().nodes(List.of(HostNodes.IMEX_NODE));
      specs.add(new CdiSpec("imex-channel", Map.of("0", edits.json), new JsonObject()));
    }
    nodes.additional(options).forEach(of -> specs.add(additional(of, files)));
    return specs;
  }

  /** Changes to a container, of which CDI allows no empty list. */
  private final class Edits {
    private final JsonObject json = new JsonObject();

    private Edits add(String list, JsonObject edit) {
      json.put(list, json.getJsonArray(list, new JsonArray()).add(edit));
      return this;
    }

    Edits nodes(List<String> paths) {
      String root = nodes.devRoot(options);
      for (String path : paths) {
        JsonObject node = JsonObject.of("path", path);
        add("deviceNodes", root.isEmpty() ? node : node.put("hostPath", root + path));
      }
      return this;
    }

    Edits mounts(List<String> paths, List<String> how) {
      paths.forEach(path -> mount(path, path, how));
      return this;
    }

    Edits mount(String from, String to, List<String> how) {
      String hostPath = options.driverRoot().replaceFirst("/$", "") + from;
      return add(
          "mounts", JsonObject.of("hostPath", hostPath, "containerPath", to, "options", how));
    }

    Edits links(List<DriverFiles.Link> links) {
      List<String> args = new ArrayList<>();
      links.forEach(link -> args.addAll(List.of("--link", link.target() + "::" + link.path())));
      return args.isEmpty() ? this : hook(CREATE_CONTAINER, "create-symlinks", args);
    }

    Edits hook(String stage, String name, List<String> args) {
      Set<String> disabled = options.disabledCdiHooks();
      if (disabled.contains(name) || disabled.contains("all")) {
        return this;
      }
      String path = options.cdiHookPath();
      String program = path.substring(path.lastIndexOf('/') + 1);
      List<String> arguments = new ArrayList<>(List.of(program));
      if (program.equals("nvidia-ctk")) {
        arguments.add("hook");
      }
      arguments.add(name);
      arguments.addAll(args);
      List<String> env = List.of("NVIDIA_CTK_DEBUG=false");
      return add(
          "hooks", JsonObject.of("hookName", stage, "path", path, "args", arguments, "env", env));
    }
  }

  /** Returns the devices by index or uuid, as NVIDIA's plugin names them. */
  private Map<String, JsonObject> devices() {
    Map<String, JsonObject> devices = new LinkedHashMap<>();
    for (GpuInfo gpu : gpus) {
      Edits edits = new Edits().nodes(gpu.nodes());
      // NVIDIA's hook does nothing without the variables of Allocate's answer.
      if (memoryLimits && gpu.migDevice().isEmpty()) {
        edits.hook(
            "createRuntime",
            NodeLimits.HOOK,
            List.of("--driver-root", options.driverRoot(), "--gpu-id", gpu.uuid()));
      }
      if (!(gpu.mig() instanceof Mig.On)) {
        devices.put(options.byIndex() ? gpu.number() : gpu.uuid(), edits.json);
      }
    }
    return devices;
  }

  private CdiSpec additional(DeviceClass of, DriverFiles files) {
    Edits edits =
        new Edits()
            .nodes(nodes.additional().getOrDefault(of, List.of()))
            .mounts(of == DeviceClass.GDS ? files.gds() : List.of(), READ_ONLY);
    return new CdiSpec(of.text(), Map.of("all", edits.json), JsonObject.of("env", List.of(VOID)));
  }

  private JsonObject common(DriverFiles files) {
    GraphicsFiles graphics = files.graphics();
    Edits edits =
        new Edits()
            .nodes(nodes.control())
            .mounts(files.libraries(), READ_ONLY)
            .mounts(files.sockets(), SOCKET)
            .mounts(files.firmware(), READ_ONLY)
            .mounts(files.programs(), READ_ONLY)
            .mounts(graphics.libraries(), READ_ONLY);
    graphics.configs().forEach(file -> edits.mount(file.from(), file.to(), READ_ONLY));
    edits.links(graphics.links());
    List<String> folders = new ArrayList<>();
    files.libraries().stream()
        .map(CdiSpecs::folder)
        .distinct()
        .forEach(folder -> folders.addAll(List.of("--folder", folder)));
    if (!folders.isEmpty()) {
      edits
          .links(files.links())
          .hook(
              CREATE_CONTAINER,
              "enable-cuda-compat",
              List.of("--host-driver-version=" + driverVersion))
          .hook(CREATE_CONTAINER, "update-ldcache", folders);
    }
    List<String> env = new ArrayList<>();
    files.libraries().stream()
        .filter(CdiSpecs::isCuda)
        .findFirst()
        .ifPresent(cuda -> env.add("NVIDIA_CTK_LIBCUDA_DIR=" + folder(cuda)));
    env.add(VOID);
    return edits
        .hook(CREATE_CONTAINER, "disable-device-node-modification", List.of())
        .hook(CREATE_CONTAINER, "update-application-profile", List.of())
        .json
        .put("env", env);
  }

  private static String folder(String path) {
    return path.substring(0, path.lastIndexOf('/'));
  }

  static boolean isCuda(String library) {
    return library.contains("/libcuda.so.");
  }
}
