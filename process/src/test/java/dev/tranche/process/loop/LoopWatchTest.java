package dev.tranche.process.loop;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

final class LoopWatchTest {
  private final AtomicInteger turns = new AtomicInteger();

  private void turn(Runnable task) {
    if (turns.incrementAndGet() < 3) {
      task.run();
    }
  }

  @Test
  void loopThatNoLongerTurns_isFound_andOneThatTurnsIsNot() throws InterruptedException {
    var watch = new LoopWatch(List.of(Runnable::run, this::turn), 10);
    watch.awaitStall();
    assertThat(turns).hasValue(3);
  }
}
