package dev.tranche.nodeplugin.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.config.Config.MigStrategy;
import dev.tranche.nodeplugin.config.ResourceNames;
import dev.tranche.nodeplugin.config.ResourceNames.Rule;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MigPlanTest {
  private static GpuInfo gpu(int index, Mig mig) {
    return new GpuInfo(index, "GPU-" + index, "A100", index, 0, 0, -1, 0, mig);
  }

  private static GpuInfo migDevice(int gpu, int index, String profile) {
    Mig.Device device = new Mig.Device(index, "GPU-" + gpu, profile, 7 + index, 0, List.of());
    String uuid = "MIG-" + gpu + "-" + index;
    return new GpuInfo(gpu, uuid, "A100 MIG " + profile, gpu, 0, 0, -1, 0, device);
  }

  private final List<String> warnings = new ArrayList<>();
  private final List<String> errors = new ArrayList<>();

  private List<String> numbers(MigStrategy strategy, List<GpuInfo> found) {
    return MigPlan.devices(strategy, found, warnings, errors).stream()
        .map(GpuInfo::number)
        .toList();
  }

  private String refusal(List<GpuInfo> found) {
    errors.clear();
    assertThat(numbers(MigStrategy.SINGLE, found)).isEmpty();
    return errors.getFirst();
  }

  private static final List<GpuInfo> MIXED_NODE =
      List.of(
          gpu(0, Mig.OFF),
          gpu(1, Mig.ON),
          migDevice(1, 0, "1g.5gb"),
          migDevice(1, 2, "2g.10gb"),
          gpu(2, Mig.ON));

  @Test
  void none_advertisesGpusWhetherMigIsOnOrOff() {
    assertThat(numbers(MigStrategy.NONE, MIXED_NODE)).containsExactly("0", "1", "2");
  }

  @Test
  void mixed_advertisesMigDevicesInPlaceOfTheirGpus_andWarnsOfEmptyOnes() {
    assertThat(numbers(MigStrategy.MIXED, MIXED_NODE)).containsExactly("0", "1:0", "1:2");
    assertThat(warnings).containsExactly("device 2 has no MIG devices configured");
  }

  @Test
  void single_advertisesEqualMigDevices() {
    List<GpuInfo> gpus =
        List.of(gpu(0, Mig.ON), migDevice(0, 0, "1g.5gb"), migDevice(0, 1, "1g.5gb"));
    assertThat(numbers(MigStrategy.SINGLE, gpus)).containsExactly("0:0", "0:1");
  }

  @Test
  void single_withoutMig_advertisesGpus() {
    assertThat(numbers(MigStrategy.SINGLE, List.of(gpu(0, Mig.OFF), gpu(1, Mig.OFF))))
        .containsExactly("0", "1");
  }

  @Test
  void single_isRefusedInNvidiasWords() {
    assertThat(refusal(MIXED_NODE))
        .startsWith(
            "invalid MIG configuration: at least one device with migEnabled=true was not configured"
                + " correctly: device 2 has no MIG devices configured");
    assertThat(refusal(MIXED_NODE.subList(1, 4)))
        .startsWith("invalid MIG configuration: more than one MIG device type present on node");
    assertThat(refusal(MIXED_NODE.subList(0, 3)))
        .startsWith("all devices on the node must be configured with the same migEnabled value");
  }

  @ParameterizedTest
  @CsvSource({
    "MIXED,1g.5gb,nvidia.com/mig-1g.5gb",
    "MIXED,1g.5gb+me,nvidia.com/mig-1g.5gb.me",
    "MIXED,2g.10gb,nvidia.com/mig-two",
    "SINGLE,1g.5gb,nvidia.com/gpu",
    "SINGLE,2g.10gb,nvidia.com/mig-two"
  })
  void resource_isTheProfilesOnlyWhereMixed(MigStrategy strategy, String profile, String resource) {
    ResourceNames names =
        new ResourceNames(List.of(), List.of(new Rule("2g.*", "nvidia.com/mig-two")));
    assertThat(MigPlan.resourceOf(strategy, names, migDevice(0, 0, profile))).isEqualTo(resource);
  }

  @Test
  void migDevice_hasItsGpusNodeAndItsOwn() {
    Mig.Device device =
        new Mig.Device(0, "GPU-1", "1g.5gb", 7, 0, List.of("/dev/nvidia-caps/nvidia-cap66"));
    GpuInfo info = new GpuInfo(1, "MIG-0", "A100", 4, 0, 0, -1, 0, device);
    assertThat(info.nodes()).containsExactly("/dev/nvidia4", "/dev/nvidia-caps/nvidia-cap66");
  }
}
