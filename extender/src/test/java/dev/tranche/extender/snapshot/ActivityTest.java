package dev.tranche.extender.snapshot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.load.GpuActivity;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.load.MpsLoad;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.FakeWorld;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.assertj.core.data.Offset;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** How much of a GPU counts as taken where it tells what its SMs and its memory do. */
final class ActivityTest {
  private static final Offset<Double> EXACT = Offset.offset(1e-6);
  private static final int MPS_CLIENTS = 48;
  private static final int TIME_SLICING = 0;

  private FakeWorld world =
      new FakeWorld(Timing.DEFAULT, Timing.DEFAULT.halfLifeMs(), MpsLoad.ACTIVITY);

  private static GpuActivity activity(double mean) {
    return new GpuActivity(0, 0, 0, 0, mean);
  }

  private LoadReading reading(
      double smMean, @Nullable GpuActivity activity, Map<String, Double> smByPod) {
    return new LoadReading(0, smMean, smMean, 1, world.nowMs, Map.of(), smByPod, activity);
  }

  /** Reports a node whose GPUs all have the same reading. */
  private void report(String node, int gpus, int clientsMax, LoadReading reading) {
    List<GpuFacts> facts = new ArrayList<>();
    Map<String, LoadReading> readings = new HashMap<>();
    for (int i = 0; i < gpus; i++) {
      String uuid = node + i;
      facts.add(
          new GpuFacts(
              uuid,
              i,
              "H100",
              Names.RESOURCE,
              10,
              10 * FakeWorld.GIB,
              true,
              "",
              clientsMax,
              "",
              0));
      readings.put(uuid, reading);
    }
    var state = new NodeState(true, facts, Map.of(), true, Map.of(), List.of());
    world.state.reported(new Event.Reported(node, state, OptionalLong.of(0)), readings);
  }

  private NodeFit fit(String node) {
    return world.evaluator.evaluate(FakeWorld.pod("p", 3), node);
  }

  private GpuView gpu(String node) {
    return fit(node).gpus().getFirst();
  }

  /** One block that spins: a kernel runs all the time, and nearly all SMs are idle. */
  @Test
  void underMps_programsShareTheHardware_soItsActivityCounts() {
    report("a", 1, MPS_CLIENTS, reading(1, activity(0.01), Map.of("ns/spins", 1.0)));
    assertThat(gpu("a").smLoad()).isCloseTo(0.01, EXACT);
    assertThat(gpu("a").loadForecast().chances())
        .singleElement()
        .extracting("load")
        .isEqualTo(0.01);
  }

  /** The same program takes half of its neighbour's time. */
  @Test
  void withTimeSlicing_programsTakeTurns_soTheTimeCounts() {
    report("a", 1, TIME_SLICING, reading(1, activity(0.01), Map.of("ns/spins", 1.0)));
    assertThat(gpu("a").smLoad()).isEqualTo(1);
    assertThat(gpu("a").loadForecast().chances()).singleElement().extracting("load").isEqualTo(1.0);
  }

  @Test
  void utilizationCounts_unlessTheSettingSaysOtherwise() {
    world = new FakeWorld(Policy.LOAD);
    report("a", 1, MPS_CLIENTS, reading(1, activity(0.01), Map.of("ns/spins", 1.0)));
    assertThat(gpu("a").smLoad()).isEqualTo(1);
  }

  @Test
  void activityThatIsNotKnown_isNotZero() {
    report("a", 1, MPS_CLIENTS, reading(0.8, null, Map.of()));
    report("b", 1, MPS_CLIENTS, reading(0.8, activity(Double.NaN), Map.of()));
    assertThat(gpu("a").smLoad()).isCloseTo(0.8, EXACT);
    assertThat(gpu("b").smLoad()).isCloseTo(0.8, EXACT);
  }

  @Test
  void gpuThatDoesNotTellItsActivity_isTakenToBeLikeThoseThatDo() {
    report("tells", 60, MPS_CLIENTS, reading(0.8, activity(0.4), Map.of()));
    report("silent", 1, MPS_CLIENTS, reading(0.8, null, Map.of()));
    assertThat(gpu("tells").smLoad()).isCloseTo(0.4, EXACT);
    assertThat(gpu("silent").smLoad()).isCloseTo(0.4, Offset.offset(0.02));
    assertThat(fit("silent").headroom()).isEqualTo(fit("tells").headroom());
  }

  @Test
  void timeSlicedGpus_tellTheRatioToo_andKeepTheirOwnTime() {
    report("tells", 60, TIME_SLICING, reading(0.8, activity(0.4), Map.of()));
    report("silent", 1, MPS_CLIENTS, reading(0.8, null, Map.of()));
    assertThat(gpu("silent").smLoad()).isCloseTo(0.4, Offset.offset(0.02));
    assertThat(gpu("tells").smLoad()).isCloseTo(0.8, EXACT);
  }

  /** One GPU that says strange things must not decide for all. */
  @Test
  void oneGpuAlone_hardlyChangesTheRatio() {
    report("busy", 20, MPS_CLIENTS, reading(1, activity(1), Map.of()));
    report("strange", 1, MPS_CLIENTS, reading(1, activity(0), Map.of()));
    report("silent", 1, MPS_CLIENTS, reading(1, null, Map.of()));
    assertThat(gpu("silent").smLoad()).isBetween(0.9, 1.0);
  }

  @Test
  void nodeThatIsGone_leavesTheRatio() {
    for (int i = 0; i < 100; i++) {
      report("tells", 60, MPS_CLIENTS, reading(0.8, activity(0.4), Map.of()));
      world.loads.forget("tells");
    }
    assertThat(world.loads.activityRatio()).isCloseTo(1, EXACT);
    report("tells", 60, MPS_CLIENTS, reading(0.8, activity(0.4), Map.of()));
    report("tells", 1, MPS_CLIENTS, reading(0.8, activity(0.4), Map.of()));
    assertThat(world.loads.activityRatio()).isCloseTo(1.4 / 1.8, EXACT);
  }
}
