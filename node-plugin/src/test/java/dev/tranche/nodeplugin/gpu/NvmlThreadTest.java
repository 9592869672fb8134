package dev.tranche.nodeplugin.gpu;

import static dev.tranche.process.Until.until;
import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.gpu.FailingMachine.Board;
import dev.tranche.nodeplugin.gpu.FailingMachine.State;
import dev.tranche.nodeplugin.health.HealthOptions;
import dev.tranche.nodeplugin.health.XidPolicy;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import dev.tranche.nodeplugin.nvml.NvmlException;
import dev.tranche.nodeplugin.usage.UsageReader;
import dev.tranche.process.loop.MonotonicClock;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NvmlThreadTest {
  private final AtomicLong watchdogMs = new AtomicLong();
  private final FailingMachine nvml = new FailingMachine();
  private final Board first = nvml.list("GPU-a");
  private final Board other = nvml.list("GPU-b");
  private volatile boolean restartFailed;
  private volatile boolean gone;

  @ParameterizedTest
  @CsvSource({"FINE, true", "LOST, false"})
  void restartThatInterruptsWorkingGpus_mustSucceedSoon(State later, boolean soon) {
    var watch =
        new GpuWatch(
            new HealthOptions(XidPolicy.parse("", "", word -> {}), 1_000, 1),
            new UsageReader(Path.of("none"), Path.of("none"), MonotonicClock::ms),
            MonotonicClock::ms,
            new NodeMetrics().failures());
    var sessions = new ArrayDeque<>(List.of(nvml));
    try (var thread =
        new NvmlThread(
            () -> {
              if (sessions.isEmpty()) {
                restartFailed = true;
                throw new NvmlException(FailingMachine.UNKNOWN_ERROR, "Unknown Error");
              }
              return sessions.pop();
            },
            watch,
            10,
            watchdogMs::get,
            new Samples(later))) {
      thread.start();
      until("the restart has failed", () -> gone);
      assertThat(thread.failure()).isEmpty();
      watchdogMs.addAndGet(31_000);
      assertThat(thread.failure().isPresent()).isEqualTo(soon);
    }
  }

  private final class Samples implements NvmlThread.Listener {
    private final State later;

    Samples(State later) {
      this.later = later;
    }

    @Override
    public boolean unavailable(NvmlException reason) {
      throw reason;
    }

    @Override
    public void started(String driverVersion, GpuLinkScores linkScores) {}

    @Override
    public void sampled(List<GpuStatus> gpus, NvmlThread.WatchState watch) {
      gone = restartFailed;
      first.state = State.LOST;
      other.state = later;
    }
  }
}
