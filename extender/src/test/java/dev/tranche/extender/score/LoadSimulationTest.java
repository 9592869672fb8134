package dev.tranche.extender.score;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.extender.placement.GpuView;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Pods that use more or less than they ask for come and go on 200 GPUs whose load is always known,
 * at 70 % of the replicas allocated; what is lost because more is wanted than a GPU has. The
 * benchmark {@code load} does the same through a kube-scheduler.
 */
final class LoadSimulationTest {
  private static final int GPUS = 200;
  private static final int REPLICAS = 10;
  private static final int PODS = 2_000;
  private static final int LEVEL = 7 * GPUS * REPLICAS / 10;
  private static final int[] SHARES = {1, 1, 1, 2, 2, 2, 3, 3, 5, 5};

  private record Pod(int share, double use, double life) {}

  private record End(double at, int gpu, Pod pod) {}

  private static final class Gpu {
    int taken;
    double use;

    void add(Pod pod, int sign) {
      taken += sign * pod.share();
      use += sign * pod.use();
    }
  }

  private final List<Gpu> gpus = new ArrayList<>();

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void load_losesAFractionOfTheWorkThatSpreadLoses(long seed) {
    double spread = lost(Policy.SPREAD, seed);
    assertThat(spread).isGreaterThan(0.05);
    assertThat(lost(Policy.LOAD, seed)).isLessThan(spread / 3);
  }

  private double lost(Policy policy, long seed) {
    gpus.clear();
    for (int i = 0; i < GPUS; i++) {
      gpus.add(new Gpu());
    }
    var random = new Random(seed);
    var ends = new PriorityQueue<End>(Comparator.comparingDouble(End::at));
    double now = 0;
    double lost = 0;
    double wanted = 0;
    int allocated = 0;
    for (int i = 0; i < PODS; i++) {
      Pod pod = next(random);
      int gpu = best(policy, pod);
      while (allocated + pod.share() > LEVEL || gpu < 0) {
        End end = ends.remove();
        double passed = end.at() - now;
        lost += passed * gpus.stream().mapToDouble(g -> Math.max(0, g.use - 1)).sum();
        wanted += passed * gpus.stream().mapToDouble(g -> g.use).sum();
        now = end.at();
        gpus.get(end.gpu()).add(end.pod(), -1);
        allocated -= end.pod().share();
        gpu = best(policy, pod);
      }
      gpus.get(gpu).add(pod, 1);
      allocated += pod.share();
      ends.add(new End(now + pod.life(), gpu, pod));
    }
    return lost / wanted;
  }

  private static Pod next(Random random) {
    int share = SHARES[random.nextInt(SHARES.length)];
    int draw = random.nextInt(100);
    double uses = draw < 50 ? 0.1 : draw < 80 ? 1 : draw < 95 ? 2 : 5;
    double life = Math.clamp(-Math.log(1 - random.nextDouble()), 0.1, 5);
    return new Pod(share, Math.min(1, uses * share / REPLICAS), life);
  }

  /** -1: no room. */
  private int best(Policy policy, Pod pod) {
    return gpus.stream()
        .filter(g -> REPLICAS - g.taken >= pod.share())
        .map(this::view)
        .min(policy.order().forShare(pod.share()))
        .map(GpuView::index)
        .orElse(-1);
  }

  private GpuView view(Gpu gpu) {
    return new GpuView(
        "gpu",
        gpus.indexOf(gpu),
        "Tesla T4",
        Names.RESOURCE,
        REPLICAS,
        true,
        false,
        REPLICAS - gpu.taken,
        GpuView.UNLIMITED,
        1_000,
        1_000,
        Math.clamp(gpu.use, 0, 1),
        true);
  }
}
