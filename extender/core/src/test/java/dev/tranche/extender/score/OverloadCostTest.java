package dev.tranche.extender.score;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.load.UsageDistribution;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.LoadForecast;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.placement.TestGpu;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

final class OverloadCostTest {
  @Test
  void cost_risesWithTheWorkThatIsLikelyToBeLost() {
    assertThat(cost(0.5, 10, 3)).isLessThan(cost(0.8, 10, 3));
    assertThat(cost(0.8, 10, 3)).isLessThan(cost(1, 10, 3));
  }

  @Test
  void smallShare_leavesTheEmptyGpuToOthers() {
    assertThat(cost(0.4, 6, 1)).isLessThan(cost(0, 10, 1));
  }

  @Test
  void largeShare_goesToTheIdleGpu_sinceItMayWantAllOfIt() {
    assertThat(cost(0, 10, 5)).isLessThan(cost(0.5, 10, 5));
  }

  @Test
  void headroomWithoutReplicas_isWorthNothingToOthers() {
    assertThat(cost(0, 3, 3)).isLessThan(cost(0, 10, 3));
  }

  @Test
  void unmeasured_isNeitherBestNorWorst() {
    double unmeasured = OverloadCost.cost(idle().measured(false).view(), 5);
    assertThat(unmeasured).isGreaterThan(cost(0, 10, 5)).isLessThan(cost(1, 10, 5));
  }

  @Test
  void newcomerWhoseUseIsUnknown_isARiskThatItsShareDoesNotShow() {
    assertThat(cost(List.of(new LoadForecast.Newcomer(0.3, 0, 1)), 5))
        .isGreaterThan(cost(0.3, 7, 5));
    assertThat(cost(List.of(new LoadForecast.Newcomer(0.3, 0.3, 0)), 5)).isEqualTo(cost(0.3, 7, 5));
    assertThat(cost(List.of(new LoadForecast.Newcomer(0.3, 0.9, 0.5)), 5))
        .isGreaterThan(cost(0.8, 7, 5));
  }

  @Test
  void cost_thatLosesMoreWork_isNotAlike() {
    double least = score(0.2).cost();
    assertThat(Scores.equalCost(score(0.2).cost(), least)).isTrue();
    assertThat(Scores.equalCost(score(0.6).cost(), least)).isFalse();
    assertThat(score(0.2).headroom()).isGreaterThan(score(0.9).headroom());
  }

  @Test
  void sparing_isNobodysChoice() {
    assertThat(Policy.parse("load_sparing_idle")).isEmpty();
    assertThat(Policy.parse(Policy.LOAD_SPARING_IDLE.toString())).isEmpty();
    assertThat(Policy.parse("load")).contains(Policy.LOAD);
  }

  @Test
  void idle_areScarceWhenFewerThanThreeQuartersAreLeft() {
    assertThat(idleness(12, 4).scarce()).isFalse();
    assertThat(idleness(11, 5).scarce()).isTrue();
  }

  @Test
  void idle_areNotScarceAmongFewGpus_norWhereNothingIsMeasured() {
    assertThat(idleness(0, 15).scarce()).isFalse();
    var blind = Collections.nCopies(40, idle().measured(false).view());
    assertThat(IdleGpus.of(TestGpu.request(3), blind).scarce()).isFalse();
  }

  @Test
  void idle_withoutReplicas_isNot() {
    var full = Collections.nCopies(16, idle().free(4).view());
    assertThat(IdleGpus.of(TestGpu.request(3), full)).isEqualTo(new IdleGpus(16, 0));
    var more = Collections.nCopies(17, idle().view());
    assertThat(IdleGpus.of(TestGpu.request(3), more)).isEqualTo(new IdleGpus(17, 17));
  }

  private static IdleGpus idleness(int idle, int busy) {
    var gpus = Collections.nCopies(idle, gpu(0.05, 10));
    var others = Collections.nCopies(busy, gpu(0.3, 10));
    IdleGpus one = IdleGpus.of(TestGpu.request(3), gpus);
    IdleGpus other = IdleGpus.of(TestGpu.request(3), others);
    return new IdleGpus(one.gpus() + other.gpus(), one.idle() + other.idle());
  }

  private static double cost(double load, int free, int share) {
    return OverloadCost.cost(gpu(load, free), share);
  }

  private static double cost(List<LoadForecast.Newcomer> newcomers, int share) {
    var loadForecast = LoadForecast.of(0, newcomers, UsageDistribution.GUESS);
    return OverloadCost.cost(idle().free(7).load(0, loadForecast).view(), share);
  }

  private static Scores.Score score(double load) {
    var container = new Placement.Container("main", List.of(new Placement.Share("gpu", 3)));
    return Scores.of(
        Policy.LOAD_SPARING_IDLE, List.of(gpu(load, 10)), Placement.of(List.of(container)));
  }

  private static TestGpu idle() {
    return new TestGpu("gpu");
  }

  private static GpuView gpu(double load, int free) {
    return idle().free(free).load(load).view();
  }
}
