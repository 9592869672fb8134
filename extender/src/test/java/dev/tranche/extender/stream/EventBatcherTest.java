package dev.tranche.extender.stream;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

final class EventBatcherTest {
  private final ArrayDeque<Runnable> timers = new ArrayDeque<>();
  private final ArrayDeque<Runnable> other = new ArrayDeque<>();
  private final List<Integer> done = new ArrayList<>();
  private final EventBatcher gathered = new EventBatcher(timers::add, other::add);

  private void bring(int number) {
    gathered.execute(() -> done.add(number));
  }

  private static void run(ArrayDeque<Runnable> loop) {
    for (Runnable next = loop.poll(); next != null; next = loop.poll()) {
      next.run();
    }
  }

  @Test
  void whatComesWithinAMoment_wakesTheOtherOnce() {
    bring(1);
    bring(2);
    assertThat(timers).hasSize(1);
    assertThat(other).isEmpty();
    run(timers);
    bring(3);
    assertThat(other).hasSize(1);
    run(other);
    assertThat(done).containsExactly(1, 2);
    run(timers);
    run(other);
    assertThat(done).containsExactly(1, 2, 3);
  }

  @Test
  void many_areHandedInTurnsAndInTheirOrder() {
    int many = 2 * EventBatcher.AT_ONCE_MAX + 1;
    IntStream.range(0, many).forEach(this::bring);
    run(timers);
    assertThat(other).hasSize(3);
    run(other);
    assertThat(done).isSorted().hasSize(many);
  }

  @Test
  void oneThatFails_doesNotKeepTheNextFromBeingRun() {
    gathered.execute(
        () -> {
          throw new AssertionError("a bug");
        });
    bring(2);
    run(timers);
    run(other);
    assertThat(done).containsExactly(2);
  }
}
