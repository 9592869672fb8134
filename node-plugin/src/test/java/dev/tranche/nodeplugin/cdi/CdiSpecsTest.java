package dev.tranche.nodeplugin.cdi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.cdi.DriverFiles.Link;
import dev.tranche.nodeplugin.config.AllocateOptions.DeviceClass;
import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.config.Configs;
import dev.tranche.nodeplugin.gpu.HostNodes;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class CdiSpecsTest {
  private static final HostNodes NODES =
      new HostNodes(
          List.of("/dev/nvidiactl"),
          true,
          Map.of(
              DeviceClass.GDRCOPY,
              List.of("/dev/gdrdrv"),
              DeviceClass.GDS,
              List.of("/dev/nvidia-fs0"),
              DeviceClass.MOFED,
              List.of("/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm")),
          true);

  static final DriverFiles NO_FILES =
      new DriverFiles(
          List.of(),
          List.of(),
          List.of(),
          List.of(),
          List.of(),
          new GraphicsFiles(List.of(), List.of(), List.of()),
          List.of());

  /** The weights of OptiX alone. */
  static final GraphicsFiles OPTIX =
      new GraphicsFiles(
          List.of(),
          List.of(),
          List.of(
              new GraphicsFiles.Config(
                  "/usr/share/nvidia/nvoptix.bin", "/usr/share/nvidia/nvoptix.bin")));

  private static final DriverFiles FILES =
      new DriverFiles(
          List.of("/usr/lib64/libcuda.so.580.1", "/usr/lib64/libnvidia-ml.so.580.1"),
          List.of(
              new Link("libcuda.so.580.1", "/usr/lib64/libcuda.so.1"),
              new Link("libcuda.so.1", "/usr/lib64/libcuda.so")),
          List.of("/usr/bin/nvidia-smi"),
          List.of("/run/nvidia-persistenced/socket"),
          List.of(),
          OPTIX,
          List.of("/run/udev"));
  private static final Mig.Device MIG_DEVICE =
      new Mig.Device(2, "GPU-1", "1g.5gb", 7, 0, List.of("/dev/nvidia-caps/nvidia-cap66"));
  private static final List<GpuInfo> GPUS =
      List.of(
          new GpuInfo(0, "GPU-0", "A100", 3, 0, 0, -1, 0, Mig.OFF),
          new GpuInfo(1, "GPU-1", "A100", 4, 0, 0, -1, 0, Mig.ON),
          new GpuInfo(1, "MIG-1", "A100", 4, 0, 0, -1, 0, MIG_DEVICE));

  private static List<JsonObject> specs(DriverFiles files, String... flags) {
    List<String> given = new ArrayList<>(List.of("--device-list-strategy=cdi-cri"));
    given.addAll(List.of(flags));
    Config config = config(given);
    return new CdiSpecs(config.allocate(), GPUS, NODES, "580.1", false)
        .of(files).stream().map(spec -> new JsonObject(spec.json())).toList();
  }

  @Test
  void driverRootWithoutDev_leavesTheNodesInTheHostsOwn() {
    List<String> flags = List.of("--driver-root=/home/kubernetes/bin/nvidia/");
    assertThat(devRoot(flags, false)).isEmpty();
    assertThat(devRoot(flags, true)).isEqualTo("/home/kubernetes/bin/nvidia");
    assertThat(
            devRoot(List.of("--driver-root=/home/kubernetes/bin/nvidia", "--dev-root=/srv"), false))
        .isEqualTo("/srv");
    var options = config(flags).allocate();
    assertThat(
            new CdiSpecs(options, GPUS, nodes(false), "580.1", false).of(FILES).getFirst().json())
        .contains("/dev/nvidia3")
        .doesNotContain("/home/kubernetes/bin/nvidia/dev");
  }

  /** As NVIDIA's toolkit names it from 1.20.1 on. */
  @Test
  void hookThatLimitsMemory_isNamedForGpus_notForMigDevices_whereLimitsAreRequired() {
    String[] flags = {"--device-list-strategy=cdi-cri", "--driver-root=/run/nvidia/driver"};
    var options = config(List.of(flags)).allocate();
    JsonObject spec =
        new JsonObject(
            new CdiSpecs(options, GPUS, NODES, "615.1", true).of(FILES).getFirst().json());
    assertThat(edits(spec, "GPU-0").getJsonArray("hooks"))
        .isEqualTo(
            new JsonArray(
                """
                [{"hookName": "createRuntime", "path": "/usr/bin/nvidia-ctk",
                  "args": ["nvidia-ctk", "hook", "apply-cuda-memory-limits",
                    "--driver-root", "/run/nvidia/driver", "--gpu-id", "GPU-0"],
                  "env": ["NVIDIA_CTK_DEBUG=false"]}]\
                """));
    assertThat(edits(spec, "MIG-1").containsKey("hooks")).isFalse();
    assertThat(edits(specs(FILES).getFirst(), "GPU-0").containsKey("hooks")).isFalse();
  }

  private static String devRoot(List<String> flags, boolean driverHasDev) {
    return nodes(driverHasDev).devRoot(config(flags).allocate());
  }

  private static HostNodes nodes(boolean driverHasDev) {
    return new HostNodes(List.of("/dev/nvidiactl"), false, Map.of(), driverHasDev);
  }

  private static Config config(List<String> flags) {
    return Configs.of(flags.toArray(String[]::new));
  }

  private static JsonObject edits(JsonObject spec, String device) {
    return spec.getJsonArray("devices").stream()
        .map(JsonObject.class::cast)
        .filter(d -> d.getString("name").equals(device))
        .findFirst()
        .map(d -> d.getJsonObject("containerEdits"))
        .orElse(new JsonObject());
  }

  @Test
  void gpus_areNamedByTheIdStrategy_andThoseWithMigOnAreNotThere() {
    JsonObject spec = specs(NO_FILES).getFirst();
    assertThat(spec.getString("cdiVersion")).isEqualTo("0.5.0");
    assertThat(spec.getString("kind")).isEqualTo("k8s.device-plugin.nvidia.com/gpu");
    assertThat(spec.getJsonArray("devices"))
        .extracting(d -> ((JsonObject) d).getString("name"))
        .containsExactly("GPU-0", "MIG-1");
    JsonObject byIndex = specs(NO_FILES, "--device-id-strategy=index").getFirst();
    assertThat(byIndex.getJsonArray("devices"))
        .extracting(d -> ((JsonObject) d).getString("name"))
        .containsExactly("0", "1:2");
    assertThat(edits(byIndex, "0"))
        .isEqualTo(new JsonObject("{\"deviceNodes\": [{\"path\": \"/dev/nvidia3\"}]}"));
    assertThat(edits(spec, "MIG-1"))
        .isEqualTo(
            new JsonObject(
                "{\"deviceNodes\": [{\"path\": \"/dev/nvidia4\"},"
                    + " {\"path\": \"/dev/nvidia-caps/nvidia-cap66\"}]}"));
  }

  @Test
  void nodes_lieUnderTheDevRoot_andFilesUnderTheDriverRoot() {
    JsonObject spec =
        specs(FILES, "--driver-root=/run/nvidia/driver", "--dev-root=/host").getFirst();
    assertThat(edits(spec, "GPU-0").getJsonArray("deviceNodes").getJsonObject(0))
        .isEqualTo(
            new JsonObject().put("path", "/dev/nvidia3").put("hostPath", "/host/dev/nvidia3"));
    JsonArray mounts = spec.getJsonObject("containerEdits").getJsonArray("mounts");
    assertThat(mounts)
        .extracting(m -> ((JsonObject) m).getString("hostPath"))
        .containsExactly(
            "/run/nvidia/driver/usr/lib64/libcuda.so.580.1",
            "/run/nvidia/driver/usr/lib64/libnvidia-ml.so.580.1",
            "/run/nvidia/driver/run/nvidia-persistenced/socket",
            "/run/nvidia/driver/usr/bin/nvidia-smi",
            "/run/nvidia/driver/usr/share/nvidia/nvoptix.bin");
    assertThat(mounts.getJsonObject(0).getString("containerPath"))
        .isEqualTo("/usr/lib64/libcuda.so.580.1");
  }

  private static List<String> hooks(JsonObject spec) {
    return spec.getJsonObject("containerEdits").getJsonArray("hooks", new JsonArray()).stream()
        .map(JsonObject.class::cast)
        .map(
            hook ->
                hook.getString("hookName")
                    + " "
                    + hook.getString("path")
                    + ": "
                    + String.join(
                        " ", hook.getJsonArray("args").stream().map(String::valueOf).toList()))
        .toList();
  }

  @Test
  void hooks_makeTheLibrariesKnown_unlessDisabled() {
    assertThat(hooks(specs(FILES).getFirst()))
        .containsExactly(
            "createContainer /usr/bin/nvidia-ctk: nvidia-ctk hook create-symlinks --link"
                + " libcuda.so.580.1::/usr/lib64/libcuda.so.1 --link"
                + " libcuda.so.1::/usr/lib64/libcuda.so",
            "createContainer /usr/bin/nvidia-ctk: nvidia-ctk hook enable-cuda-compat"
                + " --host-driver-version=580.1",
            "createContainer /usr/bin/nvidia-ctk: nvidia-ctk hook update-ldcache --folder"
                + " /usr/lib64",
            "createContainer /usr/bin/nvidia-ctk: nvidia-ctk hook"
                + " disable-device-node-modification",
            "createContainer /usr/bin/nvidia-ctk: nvidia-ctk hook update-application-profile");
    assertThat(
            hooks(
                specs(
                        FILES,
                        "--nvidia-cdi-hook-path=/opt/nvidia-cdi-hook",
                        "--cdi-disable-hooks=create-symlinks,enable-cuda-compat,update-ldcache")
                    .getFirst()))
        .containsExactly(
            "createContainer /opt/nvidia-cdi-hook: nvidia-cdi-hook"
                + " disable-device-node-modification",
            "createContainer /opt/nvidia-cdi-hook: nvidia-cdi-hook update-application-profile");
    assertThat(hooks(specs(FILES, "--cdi-disable-hooks=all").getFirst())).isEmpty();
  }

  @Test
  void environment_keepsTheNvidiaRuntimeOut() {
    assertThat(specs(FILES).getFirst().getJsonObject("containerEdits").getJsonArray("env"))
        .containsExactly("NVIDIA_CTK_LIBCUDA_DIR=/usr/lib64", "NVIDIA_VISIBLE_DEVICES=void");
  }

  @Test
  void extras_areClassesOfTheirOwn_ifTheyHaveDeviceNodes() {
    List<JsonObject> specs =
        specs(
            NO_FILES,
            "--imex-channel-ids=0",
            "--gdrcopy-enabled",
            "--gds-enabled",
            "--mofed-enabled");
    assertThat(specs)
        .extracting(spec -> spec.getString("kind"))
        .containsExactly(
            "k8s.device-plugin.nvidia.com/gpu",
            "k8s.device-plugin.nvidia.com/imex-channel",
            "k8s.device-plugin.nvidia.com/gdrcopy",
            "k8s.device-plugin.nvidia.com/gds",
            "k8s.device-plugin.nvidia.com/mofed");
    assertThat(edits(specs.get(1), "0").getJsonArray("deviceNodes").getJsonObject(0))
        .isEqualTo(new JsonObject().put("path", "/dev/nvidia-caps-imex-channels/channel0"));
    assertThat(edits(specs.get(4), "all").getJsonArray("deviceNodes")).hasSize(2);
    assertThat(specs.subList(2, 5))
        .extracting(spec -> spec.getJsonObject("containerEdits").getJsonArray("env"))
        .containsOnly(JsonArray.of("NVIDIA_VISIBLE_DEVICES=void"));
  }

  @Test
  void gds_bringsItsFiles() {
    JsonObject gds = specs(FILES, "--gds-enabled").get(1);
    assertThat(edits(gds, "all").getJsonArray("mounts"))
        .extracting(m -> ((JsonObject) m).getString("containerPath"))
        .containsExactly("/run/udev");
  }

  @Test
  void hooks_keepQuiet() {
    JsonObject hook =
        specs(FILES)
            .getFirst()
            .getJsonObject("containerEdits")
            .getJsonArray("hooks")
            .getJsonObject(0);
    assertThat(hook.getJsonArray("env")).containsExactly("NVIDIA_CTK_DEBUG=false");
  }
}
