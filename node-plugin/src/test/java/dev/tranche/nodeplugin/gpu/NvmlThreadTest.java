package dev.tranche.nodeplugin.gpu;

import static dev.tranche.nodeplugin.Eventually.eventually;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.gpu.FailingMachine.Board;
import dev.tranche.nodeplugin.gpu.FailingMachine.State;
import dev.tranche.nodeplugin.health.HealthOptions;
import dev.tranche.nodeplugin.health.XidPolicy;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import dev.tranche.nodeplugin.nvml.NvmlException;
import dev.tranche.nodeplugin.usage.UsageReader;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.LongSupplier;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NvmlThreadTest {
  private final List<String> calls = new CopyOnWriteArrayList<>();
  private final FailingMachine nvml = new FailingMachine();
  private final Board first = nvml.list("GPU-a");
  private final Board other = nvml.list("GPU-b");

  @ParameterizedTest
  @CsvSource({"FINE, restarting gone", "LOST, gone"})
  void restartThatInterruptsWorkingGpus_isTold(State later, String told) {
    LongSupplier clockMs = () -> System.nanoTime() / 1_000_000;
    var watch =
        new GpuWatch(
            new HealthOptions(XidPolicy.parse("", "", word -> {}), 1_000, 1),
            new UsageReader(Path.of("none"), Path.of("none"), clockMs),
            clockMs,
            new NodeMetrics().failures());
    var sessions = new ArrayDeque<>(List.of(nvml));
    try (var thread =
        new NvmlThread(
            () -> {
              if (sessions.isEmpty()) {
                throw new NvmlException(FailingMachine.UNKNOWN_ERROR, "Unknown Error");
              }
              return sessions.pop();
            },
            watch,
            10,
            new Calls(later))) {
      thread.start();
      eventually("the restart has failed", () -> calls.contains("gone"));
    }
    assertThat(String.join(" ", calls)).isEqualTo(told);
  }

  private final class Calls implements NvmlThread.Listener {
    private final State later;

    Calls(State later) {
      this.later = later;
    }

    @Override
    public void restarting() {
      calls.add("restarting");
    }

    @Override
    public boolean unavailable(NvmlException reason) {
      throw reason;
    }

    @Override
    public void started(String driverVersion, GpuLinkScores linkScores) {}

    @Override
    public void sampled(List<GpuStatus> gpus) {
      first.state = State.LOST;
      other.state = later;
    }

    @Override
    public void gone(List<GpuStatus> gpus) {
      calls.add("gone");
    }
  }
}
