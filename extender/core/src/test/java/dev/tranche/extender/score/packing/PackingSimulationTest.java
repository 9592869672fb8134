package dev.tranche.extender.score.packing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.AllowList;
import dev.tranche.process.fuzz.Seeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A small cluster is filled with pods of random shapes, by our choice and by best fit. */
final class PackingSimulationTest {
  private static final double ARRIVE_IN_ALL = 1.3;
  private static final int[] SHARES = {100, 250, 300, 460, 500, 700, 1_000, 1_000, 1_000};
  private static final long[] CPUS = {1_000, 4_000, 6_000, 8_000, 12_000, 16_000};

  @FunctionalInterface
  private interface Choose extends BiFunction<Shape, List<FreeCapacity>, Optional<Packer.Choice>> {}

  /**
   * @param ratio of the GPUs that is placed
   * @param largePlaced of the pods of several GPUs that came before 90 % was asked for
   */
  private record Filled(double ratio, double largePlaced) {}

  @Test
  void packed_fillsMoreThanBestFit_andStarvesNoLargePods() {
    long[] seeds = Seeds.of(4);
    double more = 0;
    double largePlaced = 0;
    for (long seed : seeds) {
      var packer = new Packer();
      var pods = new AtomicInteger();
      Filled packed =
          fill(
              seed,
              (shape, capacities) -> {
                packer.learn("pod-" + pods.incrementAndGet(), shape);
                return packer.choose(shape, capacities);
              });
      more += packed.ratio() - fill(seed, PackingSimulationTest::bestFit).ratio();
      largePlaced += packed.largePlaced();
    }
    assertThat(more / seeds.length).isGreaterThan(0.01);
    assertThat(largePlaced / seeds.length).isGreaterThan(0.9);
  }

  private static List<FreeCapacity> cluster() {
    var capacities = new ArrayList<FreeCapacity>();
    for (int i = 0; i < 80; i++) {
      int gpus = i % 4 == 0 ? 2 : 8;
      int[] free = new int[gpus];
      Arrays.fill(free, Shape.WHOLE_MILLI);
      capacities.add(new FreeCapacity(gpus == 2 ? "T4" : "A10", 96_000, 400_000, free));
    }
    return capacities;
  }

  private static Shape next(RandomGenerator random) {
    int count = random.nextInt(100) == 0 ? 8 : 1;
    int milli = count > 1 ? Shape.WHOLE_MILLI : SHARES[random.nextInt(SHARES.length)];
    long cpuMilli = count > 1 ? 64_000 : CPUS[random.nextInt(CPUS.length)];
    return new Shape(cpuMilli, 4_096, count, milli, AllowList.ANY);
  }

  private static Filled fill(long seed, Choose choose) {
    RandomGenerator random = Seeds.random(seed);
    List<FreeCapacity> capacities = cluster();
    long total = capacities.stream().mapToLong(FreeCapacity::freeMilli).sum();
    long requestedMilli = 0;
    long placed = 0;
    int large = 0;
    int largePlaced = 0;
    while (requestedMilli < ARRIVE_IN_ALL * total) {
      Shape shape = next(random);
      boolean earlyLarge = shape.large() && requestedMilli < 0.9 * total;
      requestedMilli += shape.totalMilli();
      boolean fits = place(capacities, shape, choose);
      placed += fits ? shape.totalMilli() : 0;
      large += earlyLarge ? 1 : 0;
      largePlaced += earlyLarge && fits ? 1 : 0;
    }
    return new Filled((double) placed / total, (double) largePlaced / large);
  }

  private static boolean place(List<FreeCapacity> capacities, Shape shape, Choose choose) {
    var fitting = new ArrayList<Integer>();
    for (int i = 0; i < capacities.size(); i++) {
      if (capacities.get(i).fittingPods(shape) > 0) {
        fitting.add(i);
      }
    }
    List<FreeCapacity> candidates = fitting.stream().map(capacities::get).toList();
    Optional<Packer.Choice> choice = choose.apply(shape, candidates);
    choice.ifPresent(
        c ->
            capacities.set(
                fitting.get(c.index()), candidates.get(c.index()).after(shape, c.leastMilli())));
    return choice.isPresent();
  }

  private static Optional<Packer.Choice> bestFit(Shape shape, List<FreeCapacity> capacities) {
    Packer.@Nullable Choice best = null;
    int least = Integer.MAX_VALUE;
    for (int i = 0; i < capacities.size(); i++) {
      for (int gpu : capacities.get(i).gpuMilli()) {
        int left = 100 * (gpu - shape.milli()) + capacities.get(i).freeMilli() / Shape.WHOLE_MILLI;
        if (gpu >= shape.milli() && left < least && !(shape.large() && gpu < Shape.WHOLE_MILLI)) {
          least = left;
          best = new Packer.Choice(i, gpu);
        }
      }
    }
    return Optional.ofNullable(best);
  }
}
