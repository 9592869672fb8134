package dev.tranche.extender.score;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Placement;
import java.util.List;
import org.junit.jupiter.api.Test;

final class OverloadTest {
  @Test
  void cost_risesWithLoadAboveTheLanding() {
    assertThat(cost(0.5, 3)).isLessThan(cost(0.7, 3));
    assertThat(cost(0.7, 3)).isLessThan(cost(0.9, 3));
    assertThat(cost(0.9, 3)).isLessThan(cost(1.2, 3));
  }

  @Test
  void smallShare_leavesTheIdleGpuToOthers_whereNothingIsLostByIt() {
    assertThat(cost(0.4, 1)).isLessThan(cost(0, 1));
  }

  @Test
  void largeShare_goesToTheIdleGpu_sinceItMayWantAllOfIt() {
    assertThat(cost(0, 5)).isLessThan(cost(0.4, 5));
  }

  @Test
  void unmeasured_isNeitherBestNorWorst() {
    double unmeasured = Overload.cost(gpu(0, 10, false), 3);
    assertThat(unmeasured).isGreaterThan(cost(0, 3)).isLessThan(cost(1, 3));
  }

  @Test
  void loadsAlike_fillTheFullerGpu() {
    assertThat(Overload.cost(gpu(0.2, 5, true), 3)).isLessThan(Overload.cost(gpu(0.2, 9, true), 3));
  }

  @Test
  void asGoodAsTheBest_leavesOutThoseThatLoseMoreWork() {
    var candidates = List.of(node(0.9), node(0.2), node(0.2), node(0.6));
    assertThat(Scores.asGoodAsTheBest(Policy.LOAD, candidates)).containsExactly(1, 2);
    assertThat(Scores.asGoodAsTheBest(Policy.SPREAD, candidates)).hasSize(4);
    assertThat(Scores.asGoodAsTheBest(Policy.LOAD, List.of())).isEmpty();
  }

  private static double cost(double load, int share) {
    return Overload.cost(gpu(load, 10, true), share);
  }

  private static Scores.Candidate node(double load) {
    var container = new Placement.Container("main", List.of(new Placement.Share("gpu", 3)));
    return new Scores.Candidate(
        "node", List.of(gpu(load, 10, true)), Placement.of(List.of(container)));
  }

  private static GpuView gpu(double load, int free, boolean measured) {
    return new GpuView(
        "gpu",
        0,
        "Tesla T4",
        Names.RESOURCE,
        10,
        true,
        false,
        free,
        GpuView.UNLIMITED,
        1_000,
        1_000,
        load,
        measured);
  }
}
