package dev.tranche.extender.verb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.process.fuzz.Seeds;
import dev.tranche.process.loop.Loop;
import io.vertx.core.Vertx;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** In no order of events is more than one whole GPU granted, or free room refused for ever. */
@Tag("slow")
final class RecutTest {
  private static final int RUNS = 10;
  private static final int STEPS = 600;

  private final Vertx vertx = Vertx.vertx();

  @AfterEach
  void stop() {
    vertx.close().await();
  }

  @Test
  void noGpuIsGrantedTwice_andFreeRoomCanBeHad() {
    var loop = new Loop(vertx.getOrCreateContext());
    int placed = 0;
    int mixed = 0;
    long[] seeds = Seeds.of(RUNS);
    for (long seed : seeds) {
      var cluster = new RecutCluster(seed, loop);
      cluster.run(STEPS);
      if (cluster.failures().isEmpty()) {
        cluster.settle();
      }
      assertThat(cluster.failures()).as("seed %d:\n%s", seed, cluster.history()).isEmpty();
      placed += cluster.placed();
      mixed += cluster.mixed();
    }
    assertThat(placed).isGreaterThan(seeds.length * STEPS / 6);
    assertThat(mixed).isGreaterThan(placed / 40);
  }
}
