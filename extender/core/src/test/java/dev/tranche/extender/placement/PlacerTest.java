package dev.tranche.extender.placement;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.AllowList;
import dev.tranche.api.Demand;
import dev.tranche.api.Demand.Container;
import dev.tranche.api.Demand.Kind;
import dev.tranche.api.Names;
import dev.tranche.extender.score.Policy;
import java.util.List;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class PlacerTest {
  private static final long GIB = 1L << 30;

  @Test
  void fraction_takesTheGpuWithRoom() {
    assertThat(place(request(app(3)), gpu("a", 2), gpu("b", 3))).isEqualTo(on("main", "b", 3));
  }

  @Test
  void fraction_twoHalves_isFragmented() {
    assertThat(place(request(app(3)), gpu("a", 2), gpu("b", 2)))
        .isEqualTo(refused(Reason.FRAGMENTED));
  }

  @Test
  void fraction_tooFewInAll_isFull() {
    assertThat(place(request(app(3)), gpu("a", 1), gpu("b", 1))).isEqualTo(refused(Reason.FULL));
  }

  @Test
  void count_takesDifferentGpus() {
    var two = Containers.of("main", Kind.APP, List.of(5, 5), false);
    assertThat(place(request(two), gpu("a", 10), gpu("b", 4)))
        .isEqualTo(refused(Reason.TOO_FEW_GPUS));
    var placed = (Outcome.Fits) place(request(two), gpu("a", 10), gpu("b", 5));
    assertThat(placed.placement().held()).containsEntry("a", 5).containsEntry("b", 5);
  }

  @Test
  void containers_aFirstChoiceThatBlocks_isTakenBack() {
    var small = Containers.of("small", Kind.APP, List.of(4), false);
    var large = Containers.of("large", Kind.APP, List.of(10), false);
    // The least loaded GPU is the only one with room for the large share.
    GpuView idle = view("idle", 10, 10, 10 * GIB, 0.0);
    GpuView busy = view("busy", 10, 5, 10 * GIB, 0.9);
    var placed = (Outcome.Fits) Placer.place(request(small, large), List.of(idle, busy), order());
    assertThat(placed.placement().held()).containsEntry("busy", 4).containsEntry("idle", 10);
  }

  @Test
  void twoShares_thatFitOneGpuExactly_lackASecondGpu() {
    var two = Containers.of("main", Kind.APP, List.of(5, 5), false);
    assertThat(place(request(two), gpu("a", 5), gpu("b", 4), gpu("c", 4)))
        .isEqualTo(refused(Reason.TOO_FEW_GPUS));
  }

  @Test
  void reasons_haveSentences_andSayWhetherEvictionHelps() {
    assertThat(Reason.values()).extracting(reason -> reason.sentence).doesNotHaveDuplicates();
    assertThat(Reason.FULL.unresolvable).isFalse();
    assertThat(Reason.FRAGMENTED.unresolvable).isTrue();
    assertThat(MemoryGuard.ENFORCE).hasToString("enforce");
  }

  @Test
  void gpuOfAnotherResource_isRefused() {
    GpuView mig = gpu("a", 10);
    var other = new Demand("nvidia.com/mig-1g.5gb", 10, List.of(app(1)));
    var request = new GpuRequest(other, OptionalInt.empty(), AllowList.ANY, AllowList.ANY);
    assertThat(Placer.ineligible(request, mig)).contains(Reason.NO_GPU);
    assertThat(Placer.ineligible(request(app(1)), mig)).isEmpty();
  }

  @Test
  void plain_isSplitOverTheEmptiestGpus_theFirstAmongEquals() {
    var plain = Containers.of("main", Kind.APP, List.of(6), true);
    var placed = (Outcome.Fits) place(plainRequest(plain), gpu("a", 3), gpu("b", 4), gpu("c", 4));
    assertThat(placed.placement().containers().getFirst().shares())
        .containsExactly(new Placement.Share("b", 4), new Placement.Share("c", 2));
  }

  @Test
  void initContainer_onTheFirstGpu() {
    var init = Containers.of("init", Kind.INIT, List.of(6), false);
    var placed = (Outcome.Fits) place(request(init, app(3)), gpu("a", 6));
    assertThat(placed.placement().held()).containsOnlyKeys("a");
  }

  @ParameterizedTest
  @CsvSource({"10, 5", "4, 3"})
  void initContainer_plainPeakThatOneGpuCouldHold_isNotSplit(int replicas, int freeOfEach) {
    var init = Containers.of("init", Kind.INIT, List.of(replicas), true);
    var main = Containers.of("main", Kind.APP, List.of(2), true);
    assertThat(place(plainRequest(init, main), gpu("a", freeOfEach), gpu("b", freeOfEach)))
        .isEqualTo(refused(Reason.FRAGMENTED));
  }

  @Test
  void shareReplicas_areThoseOfASingleContainerWithEqualShares() {
    assertThat(request(app(3)).shareReplicas()).isEqualTo(3);
    assertThat(request(app(3), app(3)).shareReplicas()).isZero();
    assertThat(request(Containers.of("main", Kind.APP, List.of(5, 3), false)).shareReplicas())
        .isZero();
    assertThat(plainRequest(Containers.of("main", Kind.APP, List.of(3), true)).shareReplicas())
        .isZero();
  }

  @Test
  void plain_noGpuWithRoom_isSplit() {
    var plain = Containers.of("main", Kind.APP, List.of(3), true);
    var placed = (Outcome.Fits) place(plainRequest(plain), gpu("a", 2), gpu("b", 2));
    assertThat(placed.placement().held()).hasSize(2);
    assertThat(placed.placement().held().values()).contains(2, 1);
  }

  @Test
  void initContainer_holdsThePeakOnOneGpu() {
    var init = Containers.of("init", Kind.INIT, List.of(6), false);
    var placed = (Outcome.Fits) place(request(init, app(3)), gpu("a", 5), gpu("b", 6));
    assertThat(placed.placement().held()).containsExactlyEntriesOf(java.util.Map.of("b", 6));
    assertThat(placed.placement().annotation()).isEqualTo("b");
    assertThat(placed.placement().containers())
        .extracting(c -> c.shares().getFirst().replicas())
        .containsExactly(3);
  }

  @Test
  void initContainer_plainPeakAboveOneGpu_isHeldOnSeveral() {
    var init = Containers.of("init", Kind.INIT, List.of(10, 2), true);
    var main = Containers.of("main", Kind.APP, List.of(6), true);
    var second = Containers.of("second", Kind.APP, List.of(6), true);
    var placed = (Outcome.Fits) place(plainRequest(init, main, second), gpu("a", 3), gpu("b", 10));
    assertThat(placed.placement().held()).containsEntry("a", 2).containsEntry("b", 10);
    assertThat(placed.placement().containers())
        .extracting(Placement.Container::shares)
        .containsExactly(
            List.of(new Placement.Share("b", 6)),
            List.of(new Placement.Share("b", 4), new Placement.Share("a", 2)));
    var alone = (Outcome.Fits) place(plainRequest(init, main), gpu("a", 3), gpu("b", 10));
    assertThat(alone.placement().annotation()).isEqualTo("b,a");
  }

  @Test
  void memoryInUseBeyondGrants_isRefused() {
    GpuView gpu = view("a", 10, 10, 2 * GIB, 0);
    assertThat(Placer.place(request(app(3)), List.of(gpu), order()))
        .isEqualTo(refused(Reason.MEMORY));
    assertThat(Placer.place(request(app(2)), List.of(gpu), order()))
        .isInstanceOf(Outcome.Fits.class);
  }

  @Test
  void memoryOfAContextBesideItsGrant_leavesTheRestPlaceable() {
    GpuView gpu = view("a", 10, 5, 5 * GIB - (40L << 20), 0);
    assertThat(Placer.place(request(app(5)), List.of(gpu), order()))
        .isInstanceOf(Outcome.Fits.class);
    GpuView over = view("a", 10, 5, 5 * GIB - (100L << 20), 0);
    assertThat(Placer.place(request(app(5)), List.of(over), order()))
        .isEqualTo(refused(Reason.MEMORY));
  }

  @Test
  void otherReplicas_isRefused() {
    assertThat(Placer.place(request(app(3)), List.of(view("a", 4, 4, 10 * GIB, 0)), order()))
        .isEqualTo(refused(Reason.OTHER_REPLICAS));
  }

  @Test
  void lists_allowAndDeny() {
    Demand demand = request(app(3)).demand();
    var denied =
        new GpuRequest(demand, OptionalInt.of(10), AllowList.parse("!tesla t4"), AllowList.ANY);
    assertThat(place(denied, gpu("a", 10))).isEqualTo(refused(Reason.NOT_ALLOWED));
    var allowed =
        new GpuRequest(demand, OptionalInt.of(10), AllowList.parse("Tesla-T4"), AllowList.ANY);
    assertThat(place(allowed, gpu("a", 10))).isInstanceOf(Outcome.Fits.class);
    var other = new GpuRequest(demand, OptionalInt.of(10), AllowList.ANY, AllowList.parse("b"));
    assertThat(place(other, gpu("a", 10), gpu("b", 10))).isEqualTo(on("main", "b", 3));
    var but = new GpuRequest(demand, OptionalInt.of(10), AllowList.ANY, AllowList.parse("!a, !c"));
    assertThat(place(but, gpu("a", 10), gpu("b", 10), gpu("c", 10))).isEqualTo(on("main", "b", 3));
    var model =
        new GpuRequest(demand, OptionalInt.of(10), AllowList.parse("A100, L4"), AllowList.ANY);
    assertThat(place(model, gpu("a", 10))).isEqualTo(refused(Reason.NOT_ALLOWED));
  }

  @Test
  void unhealthyOrCordoned_isRefused() {
    GpuView ill = new TestGpu("a").unhealthy().view();
    GpuView cordoned = new TestGpu("b").cordoned(true).view();
    assertThat(place(request(app(1)), ill, cordoned)).isEqualTo(refused(Reason.UNFIT));
  }

  @Test
  void clients_noneLeft_isRefused() {
    assertThat(place(request(app(1)), withClients("a", 0))).isEqualTo(refused(Reason.CLIENTS));
  }

  /** An init container and two containers after it may all come to be on each of its GPUs. */
  @Test
  void clients_ofASplitInitContainer_areCounted() {
    var init = Containers.of("init", Kind.INIT, List.of(10, 5), true);
    var main = Containers.of("main", Kind.APP, List.of(1), true);
    var second = Containers.of("second", Kind.APP, List.of(1), true);
    var request = plainRequest(init, main, second);
    assertThat(place(request, withClients("a", 1), withClients("b", 1)))
        .isEqualTo(refused(Reason.CLIENTS));
    var placed =
        ((Outcome.Fits) place(request, withClients("a", 3), withClients("b", 3))).placement();
    assertThat(placed.clients("a") + placed.clients("b")).isEqualTo(4);
    assertThat(placed.clients("c")).isZero();
  }

  private static GpuView withClients(String uuid, int freeClients) {
    return new TestGpu(uuid).clients(freeClients).view();
  }

  @Test
  void order_loadTakesTheIdleGpuPackedTheFullOne() {
    GpuView idle = view("idle", 10, 8, 10 * GIB, 0.1);
    GpuView busy = view("busy", 10, 4, 10 * GIB, 0.8);
    assertThat(Placer.place(request(app(3)), List.of(busy, idle), Policy.LOAD.order))
        .isEqualTo(on("main", "idle", 3));
    assertThat(Placer.place(request(app(3)), List.of(idle, busy), Policy.PACKED.order))
        .isEqualTo(on("main", "busy", 3));
  }

  private static Outcome place(GpuRequest request, GpuView... gpus) {
    return Placer.place(request, List.of(gpus), order());
  }

  private static GpuOrder order() {
    return Policy.LOAD.order;
  }

  private static Outcome on(String container, String uuid, int replicas) {
    var shares = List.of(new Placement.Share(uuid, replicas));
    return new Outcome.Fits(Placement.of(List.of(new Placement.Container(container, shares))));
  }

  private static Outcome refused(Reason reason) {
    return new Outcome.DoesNotFit(reason);
  }

  private static Container app(int replicas) {
    return Containers.of("main", Kind.APP, List.of(replicas), false);
  }

  private static GpuRequest request(Container... containers) {
    var demand = new Demand(Names.RESOURCE, 10, List.of(containers));
    return new GpuRequest(demand, OptionalInt.of(10), AllowList.ANY, AllowList.ANY);
  }

  private static GpuRequest plainRequest(Container... containers) {
    var demand = new Demand(Names.RESOURCE, 10, List.of(containers));
    return new GpuRequest(demand, OptionalInt.empty(), AllowList.ANY, AllowList.ANY);
  }

  private static GpuView gpu(String uuid, int free) {
    return view(uuid, 10, free, 10 * GIB, 0);
  }

  private static GpuView view(String uuid, int replicas, int free, long memoryFree, double sm) {
    return new TestGpu(uuid).replicas(replicas, free).memory(10 * GIB, memoryFree).load(sm).view();
  }
}
