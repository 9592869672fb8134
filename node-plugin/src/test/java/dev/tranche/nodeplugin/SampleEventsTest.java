package dev.tranche.nodeplugin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.config.OveruseOptions;
import dev.tranche.nodeplugin.events.EventBuffer;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.health.Fault;
import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.kubelet.Hardware;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Mig;
import dev.tranche.nodeplugin.usage.Overuse;
import java.util.List;
import org.junit.jupiter.api.Test;

class SampleEventsTest {
  private long nowMs = 5_000;
  private final NodeMetrics metrics = new NodeMetrics();
  private final EventBuffer events = new EventBuffer(metrics, () -> 1_000, () -> {});
  private final PluginState state = new PluginState(() -> Hardware.NONE);
  private final SampleEvents sampleEvents =
      new SampleEvents(
          events, metrics, new Overuse(new OveruseOptions(0.05, 3, false)), () -> nowMs);
  private Health health = new Health.Healthy();

  private void sample(Health now) {
    health = now;
    var info = new GpuInfo(0, "GPU-0", "Tesla T4", 0, 100, 0, -1, 0, Mig.OFF);
    List<GpuStatus> gpus = List.of(new GpuStatus(info, now, null));
    List<GpuStatus> before = state.gpus();
    state.gpus(gpus);
    sampleEvents.sampled(state, before);
    nowMs += 1_000;
  }

  private void fault(Fault fault) {
    sample(health.afterFault(fault, nowMs));
  }

  @Test
  void memoryErrorsOfEachSecond_areAnEventAMinute() {
    for (int errors = 1; errors <= 61; errors++) {
      fault(Fault.ofMemory(errors));
    }
    assertThat(events.newest())
        .extracting(e -> e.getMessage().replaceAll(".*: (\\d+) unc.*", "$1"))
        .containsExactly("1", "61");
    assertThat(metrics.scrape())
        .contains("tranche_node_gpu_health_changes_total{to=\"faulty\"} 61.0");
  }

  @Test
  void faultThatNeedsAReset_andTheEndOfAFault_areToldAtOnce() {
    fault(Fault.ofMemory(1));
    fault(Fault.ofXid(48));
    sample(new Health.Lost("it is gone"));
    sample(new Health.Healthy());
    fault(Fault.ofMemory(2));
    assertThat(events.newest())
        .extracting(e -> e.getReason())
        .containsExactly("GpuUnhealthy", "GpuUnhealthy", "GpuLost", "GpuReturned", "GpuUnhealthy");
  }
}
