package dev.tranche.extender.snapshot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.TestFacts;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.verb.FakeWorld;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

final class PackedPolicyTest {
  private static final HostRequest FOUR = new HostRequest(4_000, 4_096);
  private final List<String> failed = new ArrayList<>();
  private final PackedPolicy packing = new PackedPolicy((node, bug) -> failed.add(node));

  private void choose(String node) {
    assertThat(packing.chooseWithoutGpu(FOUR, List.of(node), name -> List.of())).contains(node);
  }

  @Test
  void aRoomIsKept_asLongAsItsNodeIsThere() {
    packing.hosts.node("a", FOUR);
    choose("a");
    assertThat(packing.capacities.size()).isOne();
    packing.hosts.nodeGone("a");
    packing.forget("a");
    assertThat(packing.capacities.size()).isZero();
    // kube-scheduler had not heard of it yet.
    choose("a");
    assertThat(packing.capacities.size()).isZero();
  }

  @Test
  void nodeThatCausesAnException_isNoCandidate() {
    var world = new FakeWorld(Policy.PACKED);
    world.report("b", new FakeWorld.Gpu("b0", 0, 0));
    var pod = FakeWorld.pod("p", 3);
    NodeFit fits = world.evaluator.evaluate(pod, "b");
    var broken =
        new NodeFit(
            "a",
            fits.request(),
            Arrays.asList((GpuView) null),
            fits.outcome(),
            true,
            fits.headroom(),
            fits.cost(),
            fits.measuredGpus(),
            fits.idleGpus());
    assertThat(packing.choose(pod, List.of(broken, fits)))
        .hasValueSatisfying(winner -> assertThat(winner.evaluation()).isSameAs(fits));
    assertThat(packing.choose(pod, List.of(broken))).isEmpty();
    assertThat(failed).containsExactly("a", "a");
    packing.hosts.node("b", FOUR);
    assertThat(
            packing.chooseWithoutGpu(
                FOUR, List.of("a", "b"), name -> name.equals("a") ? broken.gpus() : List.of()))
        .containsExactly("b");
  }

  private static PodFacts ended(PodFacts pod) {
    return TestFacts.with(pod.on("a"), true, false);
  }

  /** Its end was seen by no watch: its CPU and memory would be taken for ever. */
  @Test
  void podThatTheApiServerHasNoMore_takesNothing() {
    packing.hosts.node("a", FOUR);
    var pod = FakeWorld.pod("p", 3);
    packing.requested(pod.uid(), FOUR);
    packing.apply(new Event.BindStarted(pod, "a", Placement.of(List.of())));
    assertThat(packing.hosts.pods()).isOne();
    packing.apply(new Event.PodChecked(pod.uid(), pod.key(), null, 0));
    assertThat(packing.hosts.pods()).isZero();
    packing.apply(new Event.BindStarted(pod, "a", Placement.of(List.of())));
    packing.apply(Event.PodChecked.forBind(pod.on("a")));
    assertThat(packing.hosts.pods()).isOne();
    packing.apply(Event.PodChecked.forBind(ended(pod)));
    assertThat(packing.hosts.pods()).isZero();
  }
}
