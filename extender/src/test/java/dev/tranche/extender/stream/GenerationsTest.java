package dev.tranche.extender.stream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.api.node.Gpu;
import dev.tranche.api.node.Health;
import dev.tranche.api.node.Holding;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.TestFacts;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.placement.Placement;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Replicas of two configs on one GPU: never more is offered than the kubelet can give. */
class GenerationsTest {
  private static final String NODE = "node";
  private static final String UUID = "GPU-0";

  private final Ledger ledger = new Ledger(Timing.DEFAULT, since1970Ms -> since1970Ms);
  private @Nullable NodeState before;

  private static NodeReport.Builder report(int replicas, int withheld) {
    return NodeReport.newBuilder()
        .setRegistered(true)
        .setHoldingsKnown(true)
        .addGpus(
            Gpu.newBuilder()
                .setUuid(UUID)
                .setResource(Names.RESOURCE)
                .setReplicas(replicas)
                .setShared(replicas > 1)
                .setWithheldReplicas(withheld)
                .setHealth(Health.HEALTH_HEALTHY));
  }

  /**
   * @param of R that the replicas were granted in
   */
  private static Holding holds(String pod, int first, int count, int of) {
    return Holding.newBuilder()
        .setNamespace("ns")
        .setPod(pod)
        .setContainer("main")
        .setResource(Names.RESOURCE)
        .setReplicasPerGpu(of)
        .addAllDeviceIds(
            IntStream.range(first, first + count).mapToObj(k -> UUID + "::" + k).toList())
        .build();
  }

  /** As {@link LatestReport} does: what has not changed is kept from one report to the next. */
  private void tell(NodeReport.Builder report) {
    Event.Reported read = ReportReader.read(NODE, report.build(), 0, before).report();
    before = read.state();
    ledger.apply(read, 0);
  }

  private void bound(String name, int replicas, int of) {
    ledger.apply(new Event.PodSeen(pod(name, name, NODE, replicas, of)), 0);
  }

  private static PodFacts pod(
      String uid, String name, @Nullable String node, int replicas, int of) {
    var request = new Demand.Request("main", Demand.Kind.APP, replicas);
    var annotations = Map.of(Names.GPU, UUID, Names.REPLICAS_PER_GPU, Integer.toString(of));
    return new PodFacts(
        uid, "ns", name, node, false, false, Names.RESOURCE, List.of(request), annotations);
  }

  private int free() {
    return ledger.view(NODE, hold -> true, 0).gpus().getFirst().freeReplicas();
  }

  @Test
  void coarserConfig_countsWhatIsRetiredAsTheNodeSays_andOnce() {
    tell(report(10, 0).addHoldings(holds("old", 7, 3, 10)));
    bound("old", 3, 10);
    assertThat(free()).isEqualTo(7);
    tell(report(4, 2).addHoldings(holds("old", 7, 3, 10)));
    assertThat(free()).isEqualTo(2);
    tell(report(4, 2).addHoldings(holds("old", 7, 3, 10)).addHoldings(holds("new", 0, 1, 4)));
    assertThat(free()).as("one of now, of a pod not seen yet").isEqualTo(1);
    bound("new", 1, 4);
    assertThat(free()).isEqualTo(1);
  }

  @Test
  void coarserConfig_withIdsThatItMakesToo_isAnotherPartOfTheGpu() {
    tell(report(4, 2).addHoldings(holds("old", 0, 3, 10)));
    bound("old", 3, 10);
    assertThat(free()).isEqualTo(2);
  }

  /** Of ten replicas seven are held when three are made of the GPU, and one pod ends. */
  @Test
  void idsOfBothConfigs_areNotFreeAsLargerParts_whenTheirPodEnds() {
    tell(report(10, 0).addHoldings(holds("a", 0, 3, 10)).addHoldings(holds("b", 3, 4, 10)));
    bound("a", 3, 10);
    bound("b", 4, 10);
    tell(report(3, 3).addHoldings(holds("a", 0, 3, 10)).addHoldings(holds("b", 3, 4, 10)));
    assertThat(free()).isZero();
    ledger.apply(new Event.PodGone("a", "ns/a"), 0);
    assertThat(free()).isZero();
    tell(report(3, 2).addHoldings(holds("b", 3, 4, 10)));
    assertThat(free()).isEqualTo(1);
  }

  /** The node does not know yet that a pod comes that was sized before the change. */
  @Test
  void podOnItsWay_countsAsThePartThatItWasSizedFor() {
    tell(report(10, 0));
    bind(pod("late", "late", null, 5, 10));
    tell(report(2, 0));
    assertThat(free()).isEqualTo(1);
    tell(report(100, 0));
    assertThat(free()).isEqualTo(50);
  }

  @Test
  void victimsOfAnEarlierConfig_makeRoom() {
    tell(report(3, 3).addHoldings(holds("a", 0, 3, 10)).addHoldings(holds("b", 3, 4, 10)));
    bound("a", 3, 10);
    bound("b", 4, 10);
    assertThat(freeWithout("b")).isEqualTo(2);
    assertThat(freeWithout("a")).isEqualTo(1);
    ledger.apply(new Event.PodGone("a", "ns/a"), 0);
    // The node still withholds what the ended pod had.
    assertThat(freeWithout("b")).isEqualTo(2);
  }

  private int freeWithout(String uid) {
    var view = ledger.view(NODE, hold -> !hold.uid().equals(uid), 0);
    return view.gpus().getFirst().freeReplicas();
  }

  /** A plain pod carries no R, so only the node knows it. */
  @Test
  void plainPod_countsAsWhatTheNodeGrantedIt() {
    tell(report(10, 0).addHoldings(holds("plain", 0, 3, 10)));
    var plain =
        TestFacts.running(TestFacts.pod("plain", NODE, Map.of(Names.GPU, UUID), TestFacts.main(3)));
    ledger.apply(new Event.PodSeen(plain), 0);
    tell(report(3, 1).addHoldings(holds("plain", 0, 3, 10)));
    assertThat(free()).isEqualTo(2);
  }

  @Test
  void renamedResource_countsOnce() {
    tell(report(10, 3).addHoldings(renamed(holds("old", 0, 3, 10))));
    assertThat(free()).isEqualTo(7);
  }

  private static Holding renamed(Holding holding) {
    return holding.toBuilder().setResource("nvidia.com/gpu.old").build();
  }

  @Test
  void podThatHasEnded_freesNothing_beforeTheNodeCanGiveItAgain() {
    tell(report(10, 0).addHoldings(holds("old", 7, 3, 10)));
    bound("old", 3, 10);
    tell(report(4, 2).addHoldings(holds("old", 7, 3, 10)));
    ledger.apply(new Event.PodGone("old", "ns/old"), 0);
    assertThat(free()).isEqualTo(2);
    bind(pod("new", "new", null, 2, 4));
    assertThat(free()).isZero();
    tell(report(4, 0));
    assertThat(free()).isEqualTo(2);
  }

  /** A StatefulSet's pod, made anew while the kubelet still lists the one before. */
  @Test
  void podOfTheNameOfAnEarlierOne_isCountedWhole() {
    tell(report(10, 0).addHoldings(holds("web-0", 7, 3, 10)));
    bound("web-0", 3, 10);
    tell(report(4, 2).addHoldings(holds("web-0", 7, 3, 10)));
    assertThat(free()).isEqualTo(2);
    ledger.apply(new Event.PodGone("web-0", "ns/web-0"), 0);
    bind(pod("next", "web-0", null, 2, 4));
    tell(report(4, 2).addHoldings(holds("web-0", 7, 3, 10)));
    assertThat(free()).isZero();
  }

  @Test
  void coarserConfig_whileTheKubeletCannotBeAsked_givesNothingTwice() {
    tell(report(10, 2).addHoldings(holds("old", 10, 2, 20)));
    bound("old", 2, 20);
    tell(report(10, 2).addHoldings(holds("old", 10, 2, 20)));
    assertThat(free()).isEqualTo(8);
    tell(report(10, 2).setHoldingsKnown(false));
    assertThat(free()).as("the same GPUs: still retired").isEqualTo(8);
    tell(report(4, 0).setHoldingsKnown(false));
    assertThat(free()).as("a tenth takes a quarter").isEqualTo(3);
  }

  private void bind(PodFacts pod) {
    var share = new Placement.Share(UUID, pod.demand(1).peakReplicas());
    var place = Placement.of(List.of(new Placement.Container("main", List.of(share))));
    ledger.apply(new Event.BindStarted(pod, NODE, place), 0);
  }

  @Test
  void otherResource_isAnEarlierConfigsToo() {
    tell(report(10, 10).addHoldings(renamed(holds("old", 0, 1, 1))));
    assertThat(free()).isZero();
  }
}
