package dev.tranche.nodeplugin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.Gpu;
import dev.tranche.nodeplugin.config.Configs;
import dev.tranche.nodeplugin.config.OveruseOptions;
import dev.tranche.nodeplugin.events.EventBuffer;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.Load;
import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.kubelet.Hardware;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import dev.tranche.nodeplugin.nvml.Gpm;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.GpuReading;
import dev.tranche.nodeplugin.nvml.Mig;
import dev.tranche.nodeplugin.usage.Overuse;
import dev.tranche.process.meters.Failures;
import java.util.List;
import org.junit.jupiter.api.Test;

/** An exception that one GPU causes leaves that GPU out, and all others are reported. */
class GpuFailureTest {
  private final NodeMetrics metrics = new NodeMetrics();
  private final Failures failures = metrics.failures();
  private final EventBuffer events = new EventBuffer(metrics, () -> 1_000, () -> {});
  private final Overuse overuse = new Overuse(new OveruseOptions(0.05, 3, false));
  private final PluginState state = new PluginState(() -> Hardware.NONE);

  /** The first GPU's reading stands for any state that the code does not expect. */
  @SuppressWarnings("NullAway")
  private static List<GpuStatus> gpus() {
    var eccErrors = new GpuReading(0, 0, 0, 40, 1, 0, 7, Gpm.Unavailable.UNSUPPORTED);
    return List.of(gpu(0, new Load(1, null, 0)), gpu(1, new Load(1, eccErrors, 0)));
  }

  private static GpuStatus gpu(int index, Load load) {
    var info = new GpuInfo(index, "GPU-" + index, "Tesla T4", index, "", 100, 0, -1, 0, Mig.OFF);
    return new GpuStatus(info, new Health.Healthy(), load);
  }

  private String metric() {
    return metrics
        .scrape()
        .lines()
        .filter(line -> line.startsWith("tranche_node_failures_total{part=\"gpu\"}"))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void sample_isTakenOver_andTheOthersEventsAreWritten() {
    var sampleEvents = new SampleEvents(events, metrics, failures, overuse, () -> 1_000);
    assertThat(sampleEvents.sampled(state, gpus())).isFalse();
    assertThat(events.newest()).singleElement().returns("GpuMemoryErrors", e -> e.getReason());
    assertThat(metric()).endsWith(" 1.0");
  }

  @Test
  void report_hasTheOthers() {
    state.config(
        Configs.usable("ten", "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 10}]}}"));
    state.gpus(gpus());
    var reports = new ReportBuilder("node", "run", "1", overuse, failures::gpuFailed);
    assertThat(reports.report(state, true, 1_000, 1_000).getGpusList())
        .extracting(Gpu::getUuid)
        .containsExactly("GPU-1");
    assertThat(metric()).endsWith(" 1.0");
  }
}
