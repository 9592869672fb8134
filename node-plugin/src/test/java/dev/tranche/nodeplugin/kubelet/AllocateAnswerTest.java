package dev.tranche.nodeplugin.kubelet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.kubelet.ContainerAllocateResponse;
import dev.tranche.api.kubelet.DeviceSpec;
import dev.tranche.api.kubelet.Mount;
import dev.tranche.nodeplugin.config.AllocateOptions.DeviceClass;
import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.config.Configs;
import dev.tranche.nodeplugin.gpu.HostNodes;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Expected are the answers of NVIDIA's plugin: recorded ones, else those that the source of its
 * v0.20 gives.
 */
class AllocateAnswerTest {
  private static final HostNodes NODES =
      new HostNodes(
          List.of("/dev/nvidiactl", "/dev/nvidia-uvm"),
          true,
          Map.of(
              DeviceClass.GDRCOPY,
              List.of("/dev/gdrdrv"),
              DeviceClass.MOFED,
              List.of("/dev/infiniband/rdma_cm")),
          true);

  private static final GpuInfo ONE = new GpuInfo(1, "GPU-1", "T4", 5, 0, 0, -1, 0, Mig.OFF);
  private static final GpuInfo ZERO = new GpuInfo(0, "GPU-0", "T4", 4, 0, 0, -1, 0, Mig.OFF);
  private static final GpuInfo MIG =
      new GpuInfo(
          2,
          "MIG-2",
          "A100",
          6,
          0,
          0,
          -1,
          0,
          new Mig.Device(
              3,
              "GPU-2",
              "1g.5gb",
              7,
              0,
              List.of("/dev/nvidia-caps/nvidia-cap66", "/dev/nvidia-caps/nvidia-cap67")));

  private static ContainerAllocateResponse answer(List<GpuInfo> gpus, String flags) {
    Config config = flags.isEmpty() ? Configs.of() : Configs.of(flags.split(" "));
    return new AllocateAnswer(config.allocate(), NODES, "id").of(gpus).build();
  }

  /** One line for each thing in the answer. */
  private static List<String> lines(ContainerAllocateResponse answer) {
    List<String> lines = new ArrayList<>();
    new TreeMap<>(answer.getEnvsMap()).forEach((key, value) -> lines.add(key + "=" + value));
    for (Mount m : answer.getMountsList()) {
      lines.add(mount(m.getHostPath(), m.getContainerPath(), m.getReadOnly()));
    }
    for (DeviceSpec d : answer.getDevicesList()) {
      lines.add(device(d.getHostPath(), d.getContainerPath(), d.getPermissions()));
    }
    answer.getAnnotationsMap().forEach((key, value) -> lines.add("@" + key + "=" + value));
    answer.getCdiDevicesList().forEach(d -> lines.add("cdi " + d.getName()));
    return lines;
  }

  private static String mount(String host, String container, boolean readOnly) {
    return "mount " + host + " " + container + (readOnly ? " ro" : "");
  }

  private static String device(String host, String container, String permissions) {
    return String.join(" ", "device", host, container, permissions);
  }

  /** From {@code e2e/nvidia-plugin/record.sh}: flags, and the answer to the same three replicas. */
  static Stream<Arguments> recorded() throws IOException {
    try (InputStream file = AllocateAnswerTest.class.getResourceAsStream("/nvidia-allocate.json")) {
      assertThat(file).isNotNull();
      return new JsonObject(Buffer.buffer(file.readAllBytes()))
          .stream().map(e -> Arguments.of(e.getKey(), recordedLines((JsonObject) e.getValue())));
    }
  }

  private static List<String> recordedLines(JsonObject answer) {
    var lines = new ArrayList<String>();
    objects(answer, "envs").forEach(envs -> envs.forEach(e -> lines.add(pair("", e))));
    objects(answer, "mounts")
        .forEach(
            m -> {
              boolean readOnly = m.getBoolean("readOnly", false);
              lines.add(mount(m.getString("hostPath"), m.getString("containerPath"), readOnly));
            });
    objects(answer, "devices")
        .forEach(
            d ->
                lines.add(
                    device(
                        d.getString("hostPath"),
                        d.getString("containerPath"),
                        d.getString("permissions"))));
    objects(answer, "annotations").forEach(a -> a.forEach(e -> lines.add(pair("@", e))));
    objects(answer, "cdiDevices").forEach(d -> lines.add("cdi " + d.getString("name")));
    return lines;
  }

  private static String pair(String mark, Map.Entry<String, Object> entry) {
    return mark + entry.getKey() + "=" + entry.getValue();
  }

  private static Stream<JsonObject> objects(JsonObject answer, String field) {
    Object value = answer.getValue(field);
    return switch (value) {
      case null -> Stream.empty();
      case JsonArray array -> array.stream().map(JsonObject.class::cast);
      default -> Stream.of((JsonObject) value);
    };
  }

  /** NVIDIA's orders of GPUs and nodes are those of a Go map, another one each time. */
  private static List<String> inAnyOrder(List<String> lines) {
    return lines.stream()
        .map(
            line -> {
              int value = line.indexOf('=') + 1;
              var parts = new TreeSet<>(List.of(line.substring(value).split(",")));
              return line.substring(0, value) + String.join(",", parts);
            })
        .sorted()
        .toList();
  }

  @ParameterizedTest
  @MethodSource("recorded")
  void sameRequest_isAnsweredAsNvidiasPluginDid(String flags, List<String> expected) {
    assertThat(inAnyOrder(lines(answer(List.of(ONE, ONE, ZERO), flags))))
        .isNotEmpty()
        .isEqualTo(inAnyOrder(expected));
  }

  @Test
  void everyStrategy_isRecordedWithBothIdsAndWithNodes() throws IOException {
    assertThat(recorded()).hasSize(16);
  }

  static Stream<Arguments> answers() {
    return Stream.of(
        Arguments.of("", List.of("NVIDIA_VISIBLE_DEVICES=GPU-1,GPU-0")),
        Arguments.of(
            "--gdrcopy-enabled --gds-enabled --mofed-enabled",
            List.of(
                "NVIDIA_GDRCOPY=enabled",
                "NVIDIA_GDS=enabled",
                "NVIDIA_MOFED=enabled",
                "NVIDIA_VISIBLE_DEVICES=GPU-1,GPU-0")),
        Arguments.of(
            "--device-list-strategy=volume-mounts --imex-channel-ids=0",
            List.of(
                "NVIDIA_VISIBLE_DEVICES=/var/run/nvidia-container-devices",
                "mount /dev/null /var/run/nvidia-container-devices/GPU-1",
                "mount /dev/null /var/run/nvidia-container-devices/GPU-0",
                "mount /dev/null /var/run/nvidia-container-devices/imex/0")),
        Arguments.of(
            "--pass-device-specs --imex-channel-ids=0",
            List.of(
                "NVIDIA_IMEX_CHANNELS=0",
                "NVIDIA_VISIBLE_DEVICES=GPU-1,GPU-0",
                "device /dev/nvidiactl /dev/nvidiactl rw",
                "device /dev/nvidia-uvm /dev/nvidia-uvm rw",
                "device /dev/nvidia5 /dev/nvidia5 rw",
                "device /dev/nvidia5 /dev/nvidia5 rw",
                "device /dev/nvidia4 /dev/nvidia4 rw",
                "device /dev/nvidia-caps-imex-channels/channel0"
                    + " /dev/nvidia-caps-imex-channels/channel0 rw")),
        Arguments.of(
            "--device-list-strategy=cdi-cri --pass-device-specs --gdrcopy-enabled",
            List.of(
                "NVIDIA_GDRCOPY=enabled",
                "cdi k8s.device-plugin.nvidia.com/gpu=GPU-1",
                "cdi k8s.device-plugin.nvidia.com/gpu=GPU-0",
                "cdi k8s.device-plugin.nvidia.com/gdrcopy=all")),
        Arguments.of(
            "--device-list-strategy=cdi-cri --imex-channel-ids=0 --gds-enabled --mofed-enabled",
            List.of(
                "NVIDIA_GDS=enabled",
                "NVIDIA_MOFED=enabled",
                "cdi k8s.device-plugin.nvidia.com/gpu=GPU-1",
                "cdi k8s.device-plugin.nvidia.com/gpu=GPU-0",
                "cdi k8s.device-plugin.nvidia.com/imex-channel=0",
                "cdi k8s.device-plugin.nvidia.com/mofed=all")),
        Arguments.of(
            "--device-list-strategy=cdi-annotations,cdi-cri,envvar"
                + " --cdi-annotation-prefix=nvidia.cdi.k8s.io/",
            List.of(
                "NVIDIA_VISIBLE_DEVICES=GPU-1,GPU-0",
                "@nvidia.cdi.k8s.io/nvidia-device-plugin_id="
                    + "k8s.device-plugin.nvidia.com/gpu=GPU-1,k8s.device-plugin.nvidia.com/gpu=GPU-0",
                "cdi k8s.device-plugin.nvidia.com/gpu=GPU-1",
                "cdi k8s.device-plugin.nvidia.com/gpu=GPU-0")));
  }

  @ParameterizedTest
  @MethodSource("answers")
  void twoReplicasOfOneGpuAndOneOfAnother(String flags, List<String> expected) {
    assertThat(lines(answer(List.of(ONE, ONE, ZERO), flags))).isEqualTo(expected);
  }

  @Test
  void migDevice_isNumberedOnItsGpu_andNeedsItsCapNodes() {
    assertThat(
            lines(
                answer(
                    List.of(MIG),
                    "--device-id-strategy=index --pass-device-specs"
                        + " --dev-root=/run/nvidia/driver")))
        .containsExactly(
            "NVIDIA_VISIBLE_DEVICES=2:3",
            "device /run/nvidia/driver/dev/nvidiactl /dev/nvidiactl rw",
            "device /run/nvidia/driver/dev/nvidia-uvm /dev/nvidia-uvm rw",
            "device /run/nvidia/driver/dev/nvidia6 /dev/nvidia6 rw",
            "device /run/nvidia/driver/dev/nvidia-caps/nvidia-cap66 /dev/nvidia-caps/nvidia-cap66"
                + " rw",
            "device /run/nvidia/driver/dev/nvidia-caps/nvidia-cap67 /dev/nvidia-caps/nvidia-cap67"
                + " rw");
    assertThat(lines(answer(List.of(MIG), ""))).containsExactly("NVIDIA_VISIBLE_DEVICES=MIG-2");
  }
}
