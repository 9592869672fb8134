package dev.tranche.nodeplugin.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import java.util.List;
import org.junit.jupiter.api.Test;

class ConfigIndexesTest {
  private final ConfigIndexes indexes = new ConfigIndexes();

  private static GpuStatus gpu(String uuid, int index, Mig mig) {
    return new GpuStatus(
        new GpuInfo(index, uuid, "Tesla T4", index, 0, 0, -1, 0, mig), new Health.Healthy(), null);
  }

  private static GpuStatus gpu(String uuid, int index) {
    return gpu(uuid, index, Mig.OFF);
  }

  private static GpuStatus lost(String uuid, int index) {
    return gpu(uuid, index).asLost("gone");
  }

  private List<String> numbers(GpuStatus... gpus) {
    return indexes.apply(List.of(gpus)).stream()
        .map(gpu -> gpu.uuid() + "=" + gpu.number())
        .toList();
  }

  @Test
  void lostGpu_keepsItsIndex_andSoDoTheOthers() {
    numbers(gpu("a", 0), gpu("b", 1), gpu("c", 2));
    assertThat(numbers(lost("a", 0), gpu("b", 0), gpu("c", 1)))
        .containsExactly("a=0", "b=1", "c=2");
    assertThat(numbers(gpu("a", 2), gpu("b", 0), gpu("c", 1))).containsExactly("a=2", "b=0", "c=1");
  }

  @Test
  void newGpuAtTheIndexOfALostOne_hasNone_untilAllAreThere() {
    numbers(gpu("a", 0), gpu("b", 1));
    assertThat(numbers(lost("a", 0), gpu("b", 1), gpu("new", 0)))
        .containsExactly("a=0", "b=1", "new=-1");
    assertThat(numbers(gpu("b", 1), gpu("new", 0))).containsExactly("b=1", "new=0");
  }

  @Test
  void migDevice_hasTheIndexOfItsGpu() {
    Mig device = new Mig.Device(3, "b", "1g.5gb", 3, 0, List.of());
    numbers(gpu("a", 0), gpu("b", 1, Mig.ON), gpu("m", 1, device));
    assertThat(numbers(lost("a", 0), gpu("b", 0, Mig.ON), gpu("m", 0, device)))
        .containsExactly("a=0", "b=1", "m=1:3");
  }
}
