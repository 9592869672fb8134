package dev.tranche.nodeplugin.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.nodeplugin.gpu.FailingMachine.Board;
import dev.tranche.nodeplugin.gpu.FailingMachine.State;
import dev.tranche.nodeplugin.health.Health;
import org.junit.jupiter.api.Test;

class GpuSamplerTest {
  private final FailingMachine machine = new FailingMachine();
  private final Board board = new Board("GPU-a");
  private long nowMs = 1_000_000;
  private final GpuWatch watch = FailingMachine.watch("", () -> nowMs);

  private Health health() {
    return watch.gpus().getFirst().health();
  }

  private void start() {
    machine.listed.addFirst(board);
    watch.open(machine);
    watch.sample();
  }

  /** As a GPU whose memory the driver tells to privileged callers only. */
  @Test
  void gpuThatSaysWhoItIs_butNotItsLoad_returnsWithTheDriver() {
    start();
    board.state = State.LOAD_DENIED;
    watch.closed("NVML is gone: the driver is reloaded");
    machine.driver = "2";
    watch.open(machine);
    for (int i = 0; i < GpuSampler.FAILED_SAMPLES_MAX; i++) {
      assertThat(health().healthy()).isFalse();
      watch.sample();
    }
    assertThat(health().healthy()).isTrue();
    assertThat(watch.state().problems())
        .extracting(NodeProblem::reason)
        .containsExactly(NodeProblem.Reason.GPU_LOAD_UNREADABLE);
    nowMs += 60_000;
    assertThat(watch.restartNeeded()).isFalse();
  }

  @Test
  void gpusThatDoNotAnswer_areNotAmongThoseWithoutLoad() throws InterruptedException {
    Board faulty = machine.list("GPU-b");
    Board silent = machine.list("GPU-c");
    start();
    machine.raise(faulty, 48);
    watch.awaitError(1);
    board.state = State.LOAD_DENIED;
    faulty.state = State.WITHOUT_HANDLE;
    silent.state = State.WITHOUT_HANDLE;
    for (int i = 0; i < GpuSampler.FAILED_SAMPLES_MAX; i++) {
      watch.sample();
    }
    assertThat(watch.gpus().get(1).health()).isInstanceOf(Health.Faulty.class);
    assertThat(watch.state().problems())
        .filteredOn(problem -> problem.reason() == NodeProblem.Reason.GPU_LOAD_UNREADABLE)
        .extracting(NodeProblem::sentence)
        .containsExactly(
            "the load of GPU-a cannot be read, so placement there uses only grants:"
                + " Insufficient Permissions");
  }

  @Test
  void moreMemoryErrors_areAFault_alsoIfTheirSampleFails() {
    start();
    board.eccErrors = 1;
    board.processFailures = 1;
    watch.sample();
    watch.sample();
    assertThat(health().reason()).contains("1 uncorrectable");
  }
}
