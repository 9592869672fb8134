package dev.tranche.extender.explain;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.TestFacts;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.metrics.GpuCollector;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.readapi.row.ClusterSummary;
import dev.tranche.extender.readapi.row.Snapshot;
import dev.tranche.extender.readapi.row.WaitingReasons;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.FakeWorld;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What happened, as the metrics tell it. */
final class CountsTest {
  private final FakeWorld world = new FakeWorld(Policy.LOAD);

  @BeforeEach
  void report() {
    world.report("a", new Gpu("a0", 0.2, 9 * FakeWorld.GIB), new Gpu("a1", 0.2, 0));
  }

  @Test
  void denials_areCountedByReason() {
    world
        .filter()
        .filter(FakeWorld.pod("p", 3, "tranche.dev/gpu-uuid=!a1"), List.of("a", "b"), false);
    assertThat(denied("memory")).isOne();
    assertThat(denied("no_report")).isOne();
    assertThat(denied("full")).isZero();
  }

  private double denied(String reason) {
    return world
        .registry
        .get("tranche.extender.denied.nodes")
        .tag("reason", reason)
        .counter()
        .count();
  }

  @Test
  void drift_isCountedOnce() {
    world.see(FakeWorld.pod("p", 3, "tranche.dev/gpu=a0").on("a"));
    world.holdings = Map.of("ns/p", Map.of("main", Map.of("a1", 3)));
    report();
    report();
    assertThat(world.registry.get("tranche.extender.drift").counter().count()).isOne();
  }

  @Test
  void reservations_areShownByStage_untilTheyExpire() {
    var pod = FakeWorld.pod("p", 3);
    Placement place = world.evaluator.evaluate(pod, "a").placement().orElseThrow();
    world.state.apply(new Event.Reserve(pod, "a", place));
    assertThat(gauge("tranche_extender_holds", "stage", "tentative")).isOne();
    world.pass(Timing.DEFAULT.tentativeMs());
    assertThat(gauge("tranche_extender_holds", "stage", "tentative")).isZero();
  }

  /** Such a pod counts against every GPU of its node, and a tenant may make many namespaces. */
  @Test
  void podsWhoseGpuIsNotKnown_areCountedByNamespace_ofLimitedNumber() {
    String unplaced = "tranche_extender_unplaced_pods";
    for (int i = 0; i < 60; i++) {
      onUnknownGpu("one-of-ns-" + i, "ns-" + i);
    }
    onUnknownGpu("second", "ns-59");
    onUnknownGpu("third", "ns-59");
    assertThat(gauge(unplaced, "namespace", "ns-59")).isEqualTo(3);
    assertThat(gauges(unplaced, "namespace", "ns-0", true)).containsExactly(1.0);
    assertThat(gauge(unplaced, "namespace", "(others)")).isEqualTo(10);
    world.holdings = Map.of("ns-59/third", Map.of("main", Map.of("a1", 3)));
    world.nowMs += 10_000;
    report();
    assertThat(gauge(unplaced, "namespace", "ns-59")).isEqualTo(2);
  }

  private void onUnknownGpu(String name, String namespace) {
    world.see(TestFacts.in(namespace, FakeWorld.pod(name, 3).on("a")));
  }

  @Test
  void readings_areShownWithTheirAge_andAsStale() {
    assertThat(gauge("tranche_extender_gpu_measured", "UUID", "a0")).isOne();
    world.nowMs += 15_001;
    assertThat(gauge("tranche_extender_gpu_measured", "UUID", "a0")).isZero();
    assertThat(gauge("tranche_extender_gpu_reading_age_seconds", "UUID", "a0")).isEqualTo(15.001);
    // The node stays the same now, and its reading grows older nevertheless.
    world.nowMs += 2_000;
    assertThat(gauge("tranche_extender_gpu_reading_age_seconds", "UUID", "a0")).isEqualTo(17.001);
  }

  /** The last load of a GPU that has fallen silent is not its load. */
  @Test
  void loadOfASilentGpu_isNotShown() {
    String load = "tranche_extender_gpu_sm_load_ratio";
    assertThat(gauges(load, "UUID", "a0", true)).containsExactly(0.2);
    world.nowMs += 15_001;
    assertThat(gauges(load, "UUID", "a0", true)).isEmpty();
  }

  /** An age of -1 s would be the youngest of all. */
  @Test
  void gpuWithoutAReading_hasNoAge() {
    world.report("b", Map.of(), new Gpu("b0", 0, 0));
    String age = "tranche_extender_gpu_reading_age_seconds";
    assertThat(gauges(age, "UUID", "b0", true)).isEmpty();
    assertThat(gauges(age, "UUID", "a0", true)).hasSize(1);
    assertThat(gauge("tranche_extender_gpu_measured", "UUID", "b0")).isZero();
  }

  /** The gauge once counted only those that filter had refused. */
  @Test
  void waitingPods_areThoseOfTheSummary() {
    PodFacts refused = FakeWorld.pod("refused", 3, "tranche.dev/gpu-uuid=!a1");
    for (PodFacts pod :
        List.of(FakeWorld.pod("untried", 3), refused, FakeWorld.pod("bound", 3).on("a"))) {
      world.see(pod);
    }
    world.filter().filter(refused, List.of("a"), false);
    var reasons = new WaitingReasons(world.explanations);
    var summary = ClusterSummary.of(Snapshot.of(world.inspection()), reasons).waitingPods();
    assertThat(summary.total()).isEqualTo(2);
    for (var reason : summary.byReason()) {
      assertThat(gauge("tranche_extender_waiting_pods", "reason", reason.reason()))
          .isEqualTo(reason.pods());
    }
  }

  @Test
  void replicaThatDoesNotLead_showsOnlyGpusThatAreNotMeasured() {
    String measured = "tranche_extender_gpu_measured";
    assertThat(gauges("tranche_extender_gpu_replicas", "UUID", "a0", true)).hasSize(1);
    assertThat(gauges("tranche_extender_gpu_replicas", "UUID", "a0", false)).isEmpty();
    assertThat(gauges(measured, "UUID", "a0", false)).isEmpty();
    world.nowMs += 15_001;
    assertThat(gauges(measured, "UUID", "a0", false)).containsExactly(0.0);
    assertThat(gauges("tranche_extender_holds", "stage", "bound", false)).containsExactly(0.0);
  }

  /** At the next scrape. */
  private double gauge(String name, String label, String value) {
    return gauges(name, label, value, true).getFirst();
  }

  private List<Double> gauges(String name, String label, String value, boolean whole) {
    var collector = new GpuCollector(new WaitingReasons(world.explanations), () -> whole, true);
    collector.update(world.inspection());
    return collector.collect().stream()
        .filter(snapshot -> snapshot.getMetadata().getName().equals(name))
        .flatMap(snapshot -> ((GaugeSnapshot) snapshot).getDataPoints().stream())
        .filter(point -> value.equals(point.getLabels().get(label)))
        .map(GaugeSnapshot.GaugeDataPointSnapshot::getValue)
        .toList();
  }
}
