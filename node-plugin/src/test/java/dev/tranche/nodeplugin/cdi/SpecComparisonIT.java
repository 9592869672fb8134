package dev.tranche.nodeplugin.cdi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.FakeNvml;
import dev.tranche.nodeplugin.config.AllocateOptions;
import dev.tranche.nodeplugin.config.Configs;
import dev.tranche.nodeplugin.gpu.HostNodes;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import dev.tranche.process.Programs;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Our CDI spec of a simulated driver, compared with that of NVIDIA's toolkit. */
@Tag("slow")
class SpecComparisonIT {
  private static final String VERSION = "615.71.09";
  private static final String HOOK = "/usr/bin/nvidia-cdi-hook";

  /** The toolkit's way to say that no volume mount names GPUs; the guard finds such mounts. */
  private static final String VOID = "/var/run/nvidia-container-devices/void";

  @TempDir Path root;
  private Path programs;

  @BeforeEach
  void driver() throws Exception {
    String built = run(Map.of(), "../e2e/build.sh", "nvidia-toolkit").strip();
    programs = Path.of(built.lines().toList().getLast().split("=")[1]);
    Path folder = Files.createDirectories(root.resolve("usr/lib64"));
    library(FakeNvml.compiled().library(), folder, "libnvidia-ml.so");
    library(programs.resolve("libcuda.so"), folder, "libcuda.so");
    Files.writeString(
        folder.resolve("gpus.state"),
        "driver version=" + VERSION + " limits=dmem\n" + FakeNvml.gpu(0, "minor=0") + "\n");
  }

  private void file(String path) throws Exception {
    Path file = root.resolve(path);
    Files.createDirectories(file.getParent());
    Files.writeString(file, "");
    assertThat(file.toFile().setExecutable(true)).isTrue();
  }

  /** As drivers install them: the soname is a link to the file with the version. */
  private static void library(Path from, Path folder, String name) throws Exception {
    Files.copy(from, folder.resolve(name + "." + VERSION));
    Files.createSymbolicLink(folder.resolve(name + ".1"), Path.of(name + "." + VERSION));
  }

  private static String run(Map<String, String> environment, String... command) throws Exception {
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().putAll(environment);
    return Programs.output(builder);
  }

  private JsonObject theirs() throws Exception {
    return new JsonObject(
        run(
            Map.of("LD_PRELOAD", programs.resolve("missing.so").toString()),
            programs.resolve("nvidia-ctk").toString(),
            "cdi",
            "generate",
            "--format=json",
            "--driver-root=" + root,
            "--device-name-strategy=uuid",
            "--nvidia-cdi-hook-path=" + HOOK));
  }

  private JsonObject ours() {
    AllocateOptions options =
        Configs.of(
                "--device-list-strategy=cdi-cri",
                "--driver-root=" + root,
                "--driver-root-ctr-path=" + root,
                "--nvidia-cdi-hook-path=" + HOOK)
            .allocate();
    GpuInfo gpu = new GpuInfo(0, "GPU-0", "Tesla T4", 0, 0, 0, -1, 0, Mig.OFF);
    CdiSpecs specs = new CdiSpecs(options, List.of(gpu), HostNodes.find(root, root), VERSION, true);
    return new JsonObject(specs.of(DriverFiles.find(root, VERSION)).getFirst().json());
  }

  private static Stream<JsonObject> objects(JsonObject of, String key) {
    return of.getJsonArray(key, new JsonArray()).stream().map(JsonObject.class::cast);
  }

  /** Links and folders are in no order. */
  private static List<String> hooks(JsonObject edits) {
    return objects(edits, "hooks")
        .map(
            hook ->
                hook.getString("hookName")
                    + " "
                    + hook.getString("path")
                    + " "
                    + hook.getJsonArray("args").stream().map(String::valueOf).sorted().toList()
                    + " "
                    + hook.getJsonArray("env"))
        .sorted()
        .toList();
  }

  private static Map<String, List<String>> devices(JsonObject spec) {
    Map<String, List<String>> devices = new TreeMap<>();
    objects(spec, "devices")
        .forEach(
            device ->
                devices.put(
                    device.getString("name"), hooks(device.getJsonObject("containerEdits"))));
    return devices;
  }

  private static Map<String, String> mounts(JsonObject spec) {
    Map<String, String> mounts = new TreeMap<>();
    objects(spec.getJsonObject("containerEdits"), "mounts")
        .forEach(
            mount ->
                mounts.put(
                    mount.getString("containerPath"),
                    mount.getString("hostPath") + " " + mount.getJsonArray("options")));
    return mounts;
  }

  /** What a driver installs beside CUDA, in places of several distributions. */
  @Test
  void specOfADriverWithGraphics_hasWhatNvidiasToolkitMounts() throws Exception {
    String firmware = "lib/firmware/nvidia/" + VERSION;
    for (String path :
        List.of(
            "etc/OpenCL/vendors/nvidia.icd",
            "etc/egl/egl_external_platform.d/15_nvidia_gbm.json",
            "usr/share/glvnd/egl_vendor.d/10_nvidia.json",
            "usr/local/share/nvidia/nvoptix.bin",
            "usr/share/vulkan/icd.d/nvidia_icd.json",
            "vulkan/icd.d/nvidia_layers.json",
            "usr/share/X11/xorg.conf.d/10-nvidia.conf",
            "usr/lib64/libnvidia-allocator.so." + VERSION,
            "usr/lib64/libnvidia-vulkan-producer.so." + VERSION,
            "usr/lib64/libnvidia-egl-gbm.so.1.1.2",
            "usr/lib64/libnvidia-egl-wayland.so.1.1.19",
            "usr/lib/xorg/modules/drivers/nvidia_drv.so",
            "usr/lib64/xorg/modules/extensions/libglxserver_nvidia.so." + VERSION,
            "usr/bin/nvidia-smi",
            "usr/bin/nvidia-xconfig",
            firmware + "/gsp_tu10x.bin",
            firmware + "/ucodes_ga10x.bin")) {
      file(path);
    }
    assertSameSpecs();
    assertThat(mounts(ours())).hasSizeGreaterThan(17);
  }

  /** Device nodes need a real driver: verify-gpu compares them. */
  @Test
  void spec_hasTheHooksMountsAndVariables_ofNvidiasToolkit() throws Exception {
    assertSameSpecs();
  }

  private void assertSameSpecs() throws Exception {
    JsonObject theirs = theirs();
    JsonObject ours = ours();
    Map<String, List<String>> theirDevices = devices(theirs);
    // The device for all GPUs, which no device plugin gives to a container.
    theirDevices.remove("all");
    assertThat(devices(ours)).isEqualTo(theirDevices);
    assertThat(theirDevices.get("GPU-0")).hasSize(1).first().asString().contains("memory-limits");
    JsonObject theirEdits = theirs.getJsonObject("containerEdits");
    JsonObject ourEdits = ours.getJsonObject("containerEdits");
    assertThat(hooks(ourEdits)).isEqualTo(hooks(theirEdits));
    assertThat(ourEdits.getJsonArray("env")).isEqualTo(theirEdits.getJsonArray("env"));
    Map<String, String> theirMounts = mounts(theirs);
    assertThat(theirMounts.remove(VOID)).isNotNull();
    assertThat(mounts(ours)).isEqualTo(theirMounts);
  }
}
