package dev.tranche.nodeplugin.mps;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.metrics.NodeMetrics;
import dev.tranche.nodeplugin.nvml.AdminNvml;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SupervisorTest {
  @TempDir Path folder;

  /** The process must not end by it: daemons that serve, and their clients, end with it. */
  @Test
  void unexpectedException_isAFailedStart_andTriedAgain() throws InterruptedException {
    var nvml =
        (AdminNvml)
            Proxy.newProxyInstance(
                AdminNvml.class.getClassLoader(),
                new Class<?>[] {AdminNvml.class},
                (proxy, method, arguments) -> {
                  throw new IllegalStateException("a compute mode that nobody expects");
                });
    var metrics = new NodeMetrics();
    var supervisor = new Supervisor("none", new MpsRoot(folder), nvml, () -> 1, metrics);
    var gpus = List.of(new MpsGpu("GPU-0", 1 << 20, 10));
    var plan = new MpsPlan(List.of(new MpsSet("nvidia.com/gpu", gpus, false, true)));
    assertThat(supervisor.step(plan)).isInstanceOf(MpsStatus.Failing.class);
    assertThat(metrics.scrape()).contains("\ntranche_mps_failures_total 1.0\n");
  }
}
