package dev.tranche.nodeplugin.cdi;

import dev.tranche.nodeplugin.cdi.CdiSpec.BindMount;
import dev.tranche.nodeplugin.cdi.CdiSpec.Edits;
import dev.tranche.nodeplugin.cdi.CdiSpec.Hook;
import dev.tranche.nodeplugin.cdi.CdiSpec.Node;
import dev.tranche.nodeplugin.config.AllocateOptions;
import dev.tranche.nodeplugin.gpu.HostNodes;
import dev.tranche.nodeplugin.limit.NodeLimits;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Builds the CDI specs of a node: one for its GPUs, and one for each other class of devices. */
public final class CdiSpecs {
  private static final List<String> READ_ONLY =
      List.of("ro", "nosuid", "nodev", "rbind", "rprivate");
  private static final List<String> SOCKET =
      List.of("nosuid", "nodev", "rbind", "rprivate", "noexec");

  private static final String CREATE_CONTAINER = "createContainer";

  // The nvidia runtime must not add GPUs of its own to those that CDI has injected.
  private static final String VOID = "NVIDIA_VISIBLE_DEVICES=void";

  private final AllocateOptions options;
  private final HostNodes nodes;
  private final DriverFiles files;
  private final String driverVersion;
  private final boolean memoryLimits;

  /**
   * @param memoryLimits name the hook that limits a container's memory
   */
  public CdiSpecs(
      AllocateOptions options,
      HostNodes nodes,
      DriverFiles files,
      String driverVersion,
      boolean memoryLimits) {
    this.options = options;
    this.nodes = nodes;
    this.files = files;
    this.driverVersion = driverVersion;
    this.memoryLimits = memoryLimits;
  }

  /**
   * Returns the spec of every class that has a device.
   *
   * @param gpus that NVML has found, including MIG devices
   */
  public List<CdiSpec> of(List<GpuInfo> gpus) {
    List<CdiSpec> specs = new ArrayList<>();
    Map<String, Edits> devices = devices(gpus);
    if (!devices.isEmpty()) {
      specs.add(new CdiSpec("gpu", devices, common()));
    }
    Map<String, Edits> channels = new LinkedHashMap<>();
    nodes
        .imexChannels(options)
        .forEach(
            channel ->
                channels.put(
                    String.valueOf(channel), Edits.of(List.of(node(HostNodes.imexNode(channel))))));
    if (!channels.isEmpty()) {
      specs.add(new CdiSpec("imex-channel", channels, Edits.NONE));
    }
    nodes.additionalClasses(options).forEach(name -> specs.add(additional(name)));
    return specs;
  }

  /** Returns the devices by index or uuid, as NVIDIA's plugin names them. */
  private Map<String, Edits> devices(List<GpuInfo> gpus) {
    Map<String, Edits> devices = new LinkedHashMap<>();
    for (GpuInfo gpu : gpus) {
      if (!(gpu.mig() instanceof Mig.On)) {
        List<Node> own = gpu.nodes().stream().map(this::node).toList();
        Edits edits = new Edits(List.of(), own, List.of(), limitHooks(gpu));
        devices.put(options.byIndex() ? gpu.number() : gpu.uuid(), edits);
      }
    }
    return devices;
  }

  /** Returns NVIDIA's hook, which does nothing without the variables of Allocate's answer. */
  private List<Hook> limitHooks(GpuInfo gpu) {
    List<Hook> hooks = new ArrayList<>();
    if (memoryLimits && gpu.migDevice().isEmpty()) {
      addHook(
          hooks,
          "createRuntime",
          NodeLimits.HOOK,
          List.of("--driver-root", options.driverRoot(), "--gpu-id", gpu.uuid()));
    }
    return hooks;
  }

  private Node node(String path) {
    return new Node(path, nodes.devRoot(options) + path);
  }

  private CdiSpec additional(String name) {
    List<String> paths =
        switch (name) {
          case "gdrcopy" -> nodes.gdrcopy();
          case "gds" -> nodes.gds();
          default -> nodes.mofed();
        };
    List<String> mounted = name.equals("gds") ? files.gds() : List.of();
    Edits edits =
        new Edits(
            List.of(),
            paths.stream().map(this::node).toList(),
            mounted.stream().map(file -> mount(file, READ_ONLY)).toList(),
            List.of());
    Edits common = new Edits(List.of(VOID), List.of(), List.of(), List.of());
    return new CdiSpec(name, Map.of("all", edits), common);
  }

  private Edits common() {
    List<String> env = new ArrayList<>();
    List<String> folders = files.libraries().stream().map(CdiSpecs::folder).distinct().toList();
    files.libraries().stream()
        .filter(CdiSpecs::isCuda)
        .findFirst()
        .ifPresent(cuda -> env.add("NVIDIA_CTK_LIBCUDA_DIR=" + folder(cuda)));
    env.add(VOID);
    return new Edits(
        env, nodes.control().stream().map(this::node).toList(), mounts(), hooks(folders));
  }

  private List<BindMount> mounts() {
    List<BindMount> mounts = new ArrayList<>();
    files.libraries().forEach(file -> mounts.add(mount(file, READ_ONLY)));
    files.sockets().forEach(file -> mounts.add(mount(file, SOCKET)));
    files.firmware().forEach(file -> mounts.add(mount(file, READ_ONLY)));
    files.programs().forEach(file -> mounts.add(mount(file, READ_ONLY)));
    GraphicsFiles graphics = files.graphics();
    graphics.libraries().forEach(file -> mounts.add(mount(file, READ_ONLY)));
    graphics.configs().forEach(file -> mounts.add(mount(file.from(), file.to(), READ_ONLY)));
    return mounts;
  }

  private BindMount mount(String path, List<String> how) {
    return mount(path, path, how);
  }

  private BindMount mount(String from, String to, List<String> how) {
    String root = options.driverRoot();
    String prefix = root.endsWith("/") ? root.substring(0, root.length() - 1) : root;
    return new BindMount(prefix + from, to, how);
  }

  private List<Hook> hooks(List<String> folders) {
    List<Hook> hooks = new ArrayList<>();
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

  private void addLinks(List<Hook> hooks, List<DriverFiles.Link> links) {
    List<String> args = new ArrayList<>();
    links.forEach(link -> args.addAll(List.of("--link", link.target() + "::" + link.path())));
    if (!args.isEmpty()) {
      addHook(hooks, CREATE_CONTAINER, "create-symlinks", args);
    }
  }

  private void addHook(List<Hook> hooks, String stage, String name, List<String> args) {
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
    hooks.add(new Hook(stage, path, arguments));
  }

  private static String folder(String path) {
    return path.substring(0, path.lastIndexOf('/'));
  }

  static boolean isCuda(String library) {
    return library.contains("/libcuda.so.");
  }
}
