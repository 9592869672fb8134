package dev.tranche.extender.readapi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Hold.Stage;
import dev.tranche.extender.ledger.NodeView.Availability;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.placement.TestGpu;
import dev.tranche.extender.readapi.row.Snapshot;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** A GPU of 10 GiB in ten replicas, of which each pod holds three. */
final class PodMetricsTest {
  private final PodMetrics metrics = new PodMetrics();

  private static Hold hold(String pod, Stage stage) {
    var share = new Placement.Share("GPU-a", 3);
    var place = Placement.of(List.of(new Placement.Container("main", List.of(share))));
    return new Hold(
        "uid-" + pod,
        "team-a/" + pod,
        "node-a",
        "nvidia.com/gpu",
        place,
        true,
        3,
        10,
        stage,
        0,
        0,
        0);
  }

  private static Snapshot snapshot(
      boolean measured, Map<String, Long> memory, Map<String, Double> sm, List<Hold> holds) {
    var view =
        new TestGpu("GPU-a")
            .index(2)
            .free(7)
            .memory(10L << 30, 7L << 30)
            .load(0.3)
            .measured(measured)
            .view();
    var reading = new LoadReading(8L << 30, 0.9, 0.2, 1, 100, memory, sm, null, true);
    var gpu =
        new Inspection.Gpu(
            view,
            100,
            holds,
            Map.of(),
            reading,
            Map.of("uid-idle", Instant.EPOCH.minusSeconds(3_600)),
            Map.of());
    var node =
        new Inspection.Node(
            "node-a", Availability.AVAILABLE, List.of(gpu), List.of(), Instant.EPOCH);
    return Snapshot.of(new Inspection(List.of(node), Map.of(), List.of(), Instant.EPOCH));
  }

  /** Returns the values of each pod. */
  private List<String> values(Snapshot snapshot, String metric) {
    return metrics
        .of(snapshot)
        .toString()
        .lines()
        .filter(line -> line.startsWith("tranche_" + metric + "{"))
        .map(line -> line.replaceAll(".*,pod=\"(\\w+)\".*} ", "$1 "))
        .toList();
  }

  @Test
  void boundPods_areShown_withWhatTheyUse() {
    Snapshot snapshot =
        snapshot(
            true,
            Map.of("team-a/greedy", 4L << 30, "team-a/meek", 3L << 30),
            Map.of("team-a/greedy", 0.25, "team-a/meek", 0.5),
            List.of(
                hold("greedy", Stage.BOUND),
                hold("meek", Stage.BOUND),
                hold("coming", Stage.TENTATIVE)));
    double grant = 3.0 * (1L << 30);
    assertThat(values(snapshot, "container_gpu_memory_granted_bytes"))
        .containsExactly("greedy " + grant, "meek " + grant);
    assertThat(values(snapshot, "container_gpu_memory_used_bytes"))
        .containsExactly("greedy " + 4.0 * (1L << 30), "meek " + grant);
    assertThat(values(snapshot, "container_gpu_overuse")).containsExactly("greedy 1.0", "meek 0.0");
    assertThat(values(snapshot, "container_gpu_sm_utilization_ratio"))
        .containsExactly("greedy 0.25", "meek 0.5");
    assertThat(metrics.of(snapshot).toString())
        .contains(
            "{Hostname=\"node-a\",UUID=\"GPU-a\",gpu=\"2\",modelName=\"Tesla"
                + " T4\",namespace=\"team-a\",pod=\"meek\"}");
  }

  /** One that starts no process is idle from its start on. */
  @Test
  void podThatHoldsAndDoesNotUse_isShownWithItsIdleTime() {
    List<Hold> holds = List.of(hold("idle", Stage.BOUND), hold("busy", Stage.BOUND));
    Snapshot snapshot = snapshot(true, Map.of(), Map.of("team-a/busy", 0.5), holds);
    assertThat(values(snapshot, "pod_gpu_granted_ratio")).containsExactly("busy 0.3", "idle 0.3");
    double grant = 3.0 * (1L << 30);
    assertThat(values(snapshot, "pod_gpu_memory_granted_bytes"))
        .containsExactly("busy " + grant, "idle " + grant);
    assertThat(values(snapshot, "pod_gpu_idle_seconds")).containsExactly("idle 3600.0");
  }

  @Test
  void whatIsNotKnown_isAbsent() {
    Map<String, Long> memory = Map.of("team-a/pod", 4L << 30);
    Snapshot old = snapshot(false, memory, Map.of(), List.of(hold("pod", Stage.BOUND)));
    assertThat(values(old, "container_gpu_memory_granted_bytes")).hasSize(1);
    assertThat(values(old, "container_gpu_memory_used_bytes")).isEmpty();
    assertThat(values(old, "container_gpu_sm_utilization_ratio")).isEmpty();
    assertThat(values(old, "container_gpu_overuse")).isEmpty();
  }

  @Test
  void textIsBounded_andWrittenOnceForASnapshot() {
    List<Hold> many =
        IntStream.rangeClosed(0, PodMetrics.SHARES_MAX)
            .mapToObj(i -> hold("p" + i, Stage.BOUND))
            .toList();
    Snapshot snapshot = snapshot(true, Map.of(), Map.of(), many);
    assertThat(values(snapshot, "container_gpu_memory_granted_bytes"))
        .hasSize(PodMetrics.SHARES_MAX);
    assertThat(metrics.leftOut()).isEqualTo(1);
    assertThat(metrics.of(snapshot)).isSameAs(metrics.of(snapshot));
    assertThat(metrics.of(snapshot).length()).isLessThan(20 << 20);
  }
}
