package dev.tranche.nodeplugin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.config.Configs;
import dev.tranche.nodeplugin.config.OveruseOptions;
import dev.tranche.nodeplugin.events.EventBuffer;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.Load;
import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.kubelet.Hardware;
import dev.tranche.nodeplugin.limit.ContainerLimit;
import dev.tranche.nodeplugin.limit.ContainerLimit.Limited;
import dev.tranche.nodeplugin.limit.NodeLimits;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import dev.tranche.nodeplugin.nvml.Gpm;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.GpuReading;
import dev.tranche.nodeplugin.nvml.Mig;
import dev.tranche.nodeplugin.usage.ContainerName;
import dev.tranche.nodeplugin.usage.ContainerUse;
import dev.tranche.nodeplugin.usage.Overuse;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What Prometheus is told of containers, by their processes and by their memory limits. */
class ContainerMetricsTest {
  private static final GpuReading READING = new GpuReading(900, 0, 0, 40, 1, 0, 0, Gpm.UNKNOWN);

  private final NodeMetrics metrics = new NodeMetrics();
  private Hardware hardware = Hardware.NONE;
  private final PluginState state = new PluginState(() -> hardware);
  private final SampleEvents sampleEvents =
      new SampleEvents(
          new EventBuffer(metrics, () -> 1_000, () -> {}),
          metrics,
          new Overuse(new OveruseOptions(0.05, 3, false)),
          () -> 1_000);

  private void sample(List<ContainerUse> uses, ContainerLimit... limits) {
    metrics.showContainers("node");
    state.config(
        Configs.usable("ten", "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 10}]}}"));
    var info = new GpuInfo(0, "GPU-0", "Tesla T4", 0, 1_000, 0, -1, 0, Mig.OFF);
    var gpus = List.of(new GpuStatus(info, new Health.Healthy(), new Load(1, READING, 0), uses));
    state.gpus(gpus);
    hardware = hardware.withLimits(NodeLimits.NONE, List.of(limits));
    sampleEvents.sampled(state, gpus);
  }

  private static ContainerLimit limit(String pod, long usedBytes) {
    var name = new ContainerName("ns", pod, "main");
    return new ContainerLimit(name, "GPU-0", Limited.YES, 500, usedBytes);
  }

  /** Returns the value of each pod. */
  private List<String> values(String metric) {
    return metrics
        .scrape()
        .lines()
        .filter(line -> line.startsWith("tranche_container_gpu_" + metric + "{"))
        .map(line -> line.replaceAll(".*,pod=\"(\\w+)\".*} ", "$1 "))
        .toList();
  }

  @Test
  void processesAndLimits_areShownBesideEachOther() {
    sample(
        List.of(new ContainerUse(new ContainerName("ns", "a", "main"), 300, 25)), limit("a", 320));
    assertThat(values("memory_used_bytes")).containsExactly("a 300.0");
    assertThat(values("memory_charged_bytes")).containsExactly("a 320.0");
    assertThat(values("sm_utilization_ratio")).containsExactly("a 0.25");
  }

  @Test
  void containerWhoseProcessesAreUnknown_isKnownByItsLimit() {
    sample(List.of(), limit("a", 320), limit("b", GpuReading.UNKNOWN));
    assertThat(values("memory_used_bytes")).containsExactly("a 320.0");
    assertThat(values("memory_charged_bytes")).containsExactly("a 320.0");
    assertThat(values("sm_utilization_ratio")).isEmpty();
  }
}
