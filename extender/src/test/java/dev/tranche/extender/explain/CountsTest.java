package dev.tranche.extender.explain;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.metrics.GpuCollector;
import dev.tranche.extender.placement.Placement;
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
    world.state.apply(new Event.PodSeen(FakeWorld.pod("p", 3, "tranche.dev/gpu=a0").on("a")));
    world.holdings = Map.of("ns/p", Map.of("main", Map.of("a1", 3)));
    report();
    report();
    assertThat(world.registry.get("tranche.extender.drift").counter().count()).isOne();
  }

  @Test
  void reservations_areShownByStage_andCountedWhenTheyExpire() {
    var pod = FakeWorld.pod("p", 3);
    Placement place = world.evaluator.evaluate(pod, "a").placement().orElseThrow();
    world.state.apply(new Event.Reserve(pod, "a", place));
    assertThat(gauge("tranche_extender_holds", "stage", "tentative")).isOne();
    world.nowMs += Timing.DEFAULT.tentativeMs();
    world.tick();
    assertThat(gauge("tranche_extender_holds", "stage", "tentative")).isZero();
    assertThat(world.registry.get("tranche.extender.holds.expired").counter().count()).isOne();
  }

  @Test
  void readings_areShownWithTheirAge_andAsStale() {
    assertThat(gauge("tranche_extender_gpu_measured", "uuid", "a0")).isOne();
    world.nowMs += 15_001;
    assertThat(gauge("tranche_extender_gpu_measured", "uuid", "a0")).isZero();
    assertThat(gauge("tranche_extender_gpu_reading_age_seconds", "uuid", "a0")).isEqualTo(15.001);
  }

  /** At the next scrape. */
  private double gauge(String name, String label, String value) {
    var collector = new GpuCollector();
    collector.show(world.inspection());
    return collector.collect().stream()
        .filter(snapshot -> snapshot.getMetadata().getName().equals(name))
        .flatMap(snapshot -> ((GaugeSnapshot) snapshot).getDataPoints().stream())
        .filter(point -> value.equals(point.getLabels().get(label)))
        .findFirst()
        .orElseThrow()
        .getValue();
  }
}
