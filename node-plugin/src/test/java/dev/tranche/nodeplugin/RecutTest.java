package dev.tranche.nodeplugin;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.fuzz.Seeds;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** In no order of events is more than one whole GPU granted, or free room refused for ever. */
@Tag("slow")
class RecutTest {
  private static final int RUNS = 60;
  private static final int STEPS = 1_000;

  @Test
  void noGpuIsGrantedTwice_andFreeRoomCanBeHad() {
    int placed = 0;
    int mixed = 0;
    long[] seeds = Seeds.of(RUNS);
    for (long seed : seeds) {
      var world = new RecutWorld(seed);
      world.run(STEPS);
      if (world.failures().isEmpty()) {
        world.settle();
      }
      assertThat(world.failures()).as("seed %d:\n%s", seed, world.history()).isEmpty();
      placed += world.placed();
      mixed += world.mixed();
    }
    assertThat(placed).isGreaterThan(seeds.length * STEPS / 6);
    assertThat(mixed).isGreaterThan(placed / 40);
  }
}
