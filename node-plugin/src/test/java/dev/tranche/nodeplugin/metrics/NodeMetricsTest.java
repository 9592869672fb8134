package dev.tranche.nodeplugin.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.Load;
import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.nvml.Gpm;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.GpuReading;
import dev.tranche.nodeplugin.nvml.Mig;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the series of a GPU say. */
class NodeMetricsTest {
  private static final GpuInfo GPU =
      new GpuInfo(0, "GPU-a", "H100", 0, 80L << 30, 0, -1, 9, Mig.OFF);

  private final NodeMetrics metrics = new NodeMetrics();

  private String value(Gpm gpm, String name) {
    Load load = Load.next(null, new GpuReading(0, 100, 1, gpm), 0);
    metrics.gpus(List.of(new GpuStatus(GPU, new Health.Healthy(), load)));
    String series = name + "{UUID=\"GPU-a\",gpu=\"0\",modelName=\"H100\"} ";
    return metrics
        .scrape()
        .lines()
        .filter(line -> line.startsWith(series))
        .map(line -> line.substring(series.length()))
        .findFirst()
        .orElse("no such series");
  }

  @Test
  void migDeviceThatIsRemoved_isShownNoLonger() {
    assertThat(value(Gpm.UNKNOWN, "tranche_gpu_healthy")).isEqualTo("1.0");
    metrics.gpus(List.of());
    assertThat(metrics.scrape()).doesNotContain("GPU-a");
  }

  @Test
  void gpm_isShown() {
    Gpm gpm = new Gpm(100, 96, 14, 93, 25);
    assertThat(value(gpm, "tranche_gpu_gpm_available")).isEqualTo("1.0");
    assertThat(value(gpm, "tranche_gpu_sm_active_ratio")).isEqualTo("0.96");
    assertThat(value(gpm, "tranche_gpu_sm_occupancy_ratio")).isEqualTo("0.14");
    assertThat(value(gpm, "tranche_gpu_tensor_active_ratio")).isEqualTo("0.93");
    assertThat(value(gpm, "tranche_gpu_dram_active_ratio")).isEqualTo("0.25");
  }

  @Test
  void whatGpmDoesNotTell_isAbsent_andNotZero() {
    assertThat(value(Gpm.UNKNOWN, "tranche_gpu_gpm_available")).isEqualTo("0.0");
    assertThat(value(Gpm.UNKNOWN, "tranche_gpu_sm_active_ratio")).isEqualTo("no such series");
    Gpm partly = new Gpm(100, 96, 14, 93, Double.NaN);
    assertThat(value(partly, "tranche_gpu_dram_active_ratio")).isEqualTo("no such series");
    assertThat(value(partly, "tranche_gpu_sm_active_ratio")).isEqualTo("0.96");
  }
}
