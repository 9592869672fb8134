package dev.tranche.nodeplugin.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.groups.Tuple.tuple;

import dev.tranche.api.node.Holding;
import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.config.Configs;
import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.nodeplugin.gpu.Replica.Stage;
import dev.tranche.nodeplugin.health.Health;
import dev.tranche.process.fuzz.Seeds;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class NodeReplicasTest {
  private static final String GPU = "nvidia.com/gpu";
  private static final String SHARED = "nvidia.com/gpu.shared";
  private static final Config CONFIG = Configs.of();

  private HeldReplicas held = new HeldReplicas();
  private long nowMs;

  private static GpuSharing sharing(String resource, int replicas) {
    return replicas == 1
        ? GpuSharing.unshared(resource)
        : new GpuSharing(resource, replicas, SharingStrategy.TIME_SLICING, false);
  }

  private NodeReplicas make(GpuSharing... sharing) {
    List<GpuStatus> gpus =
        IntStream.range(0, sharing.length)
            .mapToObj(i -> new GpuStatus(SharingPlanTest.gpu(i), new Health.Healthy(), null))
            .toList();
    return NodeReplicas.of(CONFIG, gpus, byUuid(sharing), held.all());
  }

  private static Map<String, GpuSharing> byUuid(GpuSharing... sharing) {
    return sharing.length == 1
        ? Map.of("GPU-0", sharing[0])
        : Map.of("GPU-0", sharing[0], "GPU-1", sharing[1]);
  }

  private static Replicas replicas(Map<String, GpuSharing> byUuid) {
    return new Replicas(CONFIG, GPU, byUuid, List.of());
  }

  private boolean hold(GpuSharing under, String... ids) {
    return hold(under, holding(under.resource(), ids));
  }

  private boolean hold(GpuSharing under, Holding... holdings) {
    held.update(List.of(holdings), true, byUuid(under), nowMs);
    nowMs += HeldReplicas.FREE_AFTER_MS;
    return held.update(List.of(holdings), true, byUuid(under), nowMs);
  }

  private static Holding holding(String resource, String... ids) {
    return Holding.newBuilder().setResource(resource).addAllDeviceIds(List.of(ids)).build();
  }

  private static int withheld(NodeReplicas replicas) {
    return replicas.withheld().getOrDefault("GPU-0", 0);
  }

  private static List<String> ids(NodeReplicas replicas, Stage stage) {
    return replicas.byResource().stream()
        .flatMap(r -> r.all().stream())
        .filter(r -> r.stage() == stage)
        .map(Replica::id)
        .toList();
  }

  @Test
  void withheld_isWhatHeldReplicasOfAnEarlierConfigTakeOfEachGpu() {
    hold(sharing(GPU, 10), "GPU-0::7", "GPU-0::8", "GPU-0::9");
    NodeReplicas four = make(sharing(GPU, 4), sharing(GPU, 4));
    assertThat(withheld(four)).isEqualTo(2);
    assertThat(four.withheld().get("GPU-1")).isNull();
    // All three as tenths of ten, of which nothing is withheld.
    assertThat(withheld(make(sharing(GPU, 10), sharing(GPU, 10)))).isZero();
  }

  @Test
  void withheld_ofFinerReplicas_isTheRestOfACoarserOne() {
    hold(sharing(GPU, 4), "GPU-0::0");
    NodeReplicas ten = make(sharing(GPU, 10), sharing(GPU, 10));
    assertThat(withheld(ten)).isEqualTo(3);
    // It is an id of both configs, but not the same part of the GPU.
    assertThat(ids(ten, Stage.RETIRED)).containsExactly("GPU-0::0");
    assertThat(ids(ten, Stage.OFFERED))
        .hasSize(7 + 10)
        .doesNotContain("GPU-0::0")
        .contains("GPU-0::7");
    assertThat(ten.count(Replica::healthy)).isEqualTo(1 + 7 + 10);
  }

  @Test
  void eachResource_hasItsOwnGpus() {
    NodeReplicas replicas = make(sharing(SHARED, 3), sharing(GPU, 1));
    assertThat(replicas.byResource()).extracting(Replicas::resource).containsExactly(GPU, SHARED);
    Replicas whole = replicas.byResource().getFirst();
    assertThat(whole.all()).extracting(Replica::id).containsExactly("GPU-1");
    assertThat(whole.gpuOf("GPU-1")).isPresent();
    assertThat(whole.gpuOf("GPU-0::0")).isEmpty();
    assertThat(replicas.byResource().getLast().all())
        .extracting(Replica::id)
        .containsExactly("GPU-0::0", "GPU-0::1", "GPU-0::2");
  }

  @Test
  void replicasCanDifferUnderOneName() {
    Replicas all = make(sharing(GPU, 2), sharing(GPU, 3)).byResource().getFirst();
    assertThat(all.all()).hasSize(5);
    assertThat(all.gpuOf("GPU-1::2")).isPresent();
    assertThat(all.gpuOf("GPU-0::2")).isEmpty();
  }

  @Test
  void heldReplicasOfThisConfig_takeNothingFromTheOthers() {
    hold(sharing(GPU, 3), "GPU-0::0", "GPU-0::2");
    NodeReplicas replicas = make(sharing(GPU, 3));
    assertThat(ids(replicas, Stage.OFFERED)).containsExactly("GPU-0::0", "GPU-0::1", "GPU-0::2");
    assertThat(replicas.count(Replica::healthy)).isEqualTo(3);
  }

  @Test
  void fewerReplicas_retireThoseInUseUntilTheyAreFree() {
    GpuSharing four = sharing(GPU, 4);
    hold(sharing(GPU, 10), "GPU-0::1", "GPU-0::5", "GPU-0::6", "GPU-0::7", "GPU-0::9");
    NodeReplicas replicas = make(four);
    assertThat(ids(replicas, Stage.RETIRED))
        .containsExactly("GPU-0::1", "GPU-0::5", "GPU-0::6", "GPU-0::7", "GPU-0::9");
    // Half of the GPU is held, so two quarters are left.
    assertThat(ids(replicas, Stage.OFFERED)).containsExactly("GPU-0::0", "GPU-0::2");
    assertThat(ids(replicas, Stage.WITHHELD)).containsExactly("GPU-0::3", "GPU-0::4");
    // Five requested, two free: what kube-scheduler subtracts must be in the sum.
    assertThat(replicas.count(Replica::healthy)).isEqualTo(5 + 2);
    assertThat(replicas.byResource().getFirst().gpuOf("GPU-0::9")).isEmpty();

    assertThat(hold(four, "GPU-0::9")).isTrue();
    assertThat(ids(make(four), Stage.RETIRED)).containsExactly("GPU-0::9");
    assertThat(ids(make(four), Stage.OFFERED)).hasSize(3);

    assertThat(hold(four, new String[0])).isTrue();
    assertThat(ids(make(four), Stage.RETIRED)).isEmpty();
    assertThat(ids(make(four), Stage.OFFERED)).hasSize(4);
  }

  private static String[] ids(GpuSharing how) {
    return NodeReplicas.ids("GPU-0", how, Set.of(), Set.of()).toArray(String[]::new);
  }

  @Test
  void allocatable_isWhatPodsRequestAndWhatIsFree_whateverTheNumbersOfReplicas() {
    int[] sizes = {1, 2, 3, 4, 7, 10};
    for (long seed : Seeds.of(50)) {
      var random = new Random(seed);
      held = new HeldReplicas();
      GpuSharing before = sharing(GPU, sizes[random.nextInt(sizes.length)]);
      String[] ids =
          Arrays.stream(ids(before)).filter(id -> random.nextBoolean()).toArray(String[]::new);
      hold(before, ids);
      GpuSharing now = sharing(GPU, sizes[random.nextInt(sizes.length)]);
      int free =
          Math.floorDiv((before.replicas() - ids.length) * now.replicas(), before.replicas());
      int allocatable = make(now, now).count(Replica::healthy);
      assertThat(allocatable - ids.length)
          .as("seed %d: %d of %d held, now %d", seed, ids.length, before.replicas(), now.replicas())
          .isEqualTo(now.replicas() + free);
    }
  }

  @Test
  void idsOfBothConfigs_areNotOfferedUntilTheirContainersEnd() {
    GpuSharing ten = sharing(GPU, 10);
    GpuSharing three = sharing(GPU, 3);
    String[] ids = ids(ten);
    hold(ten, Arrays.copyOf(ids, 7));
    NodeReplicas replicas = make(three);
    assertThat(withheld(replicas)).isEqualTo(3);
    // What the kubelet frees at once must not be given as a third, while four tenths run.
    assertThat(replicas.byResource().getFirst().gpuOf("GPU-0::0")).isEmpty();
    hold(three, Arrays.copyOfRange(ids, 3, 7));
    assertThat(withheld(make(three))).isEqualTo(2);
    assertThat(ids(make(three), Stage.OFFERED)).containsExactly("GPU-0::0");
  }

  @Test
  void replicaHeldBeyondTheLowestIds_staysOffered() {
    GpuSharing three = sharing(GPU, 3);
    held.restore(
        List.of(new HeldReplica(GPU, "GPU-0::0", 10), new HeldReplica(GPU, "GPU-0::4", 3)));
    NodeReplicas replicas = make(three);
    assertThat(ids(replicas, Stage.OFFERED)).containsExactly("GPU-0::1", "GPU-0::4");
    assertThat(replicas.byResource().getFirst().gpuOf("GPU-0::4")).isPresent();
    assertThat(ids(replicas, Stage.WITHHELD)).containsExactly("GPU-0::2");
  }

  @Test
  void moreThanTheWholeGpu_isNotGranted() {
    held.restore(
        List.of(new HeldReplica(GPU, "GPU-0::7", 10), new HeldReplica(SHARED, "GPU-0::0", 2)));
    Map<String, GpuSharing> five = byUuid(sharing(GPU, 5));
    assertThat(held.overfull(replicas(five), List.of("GPU-0::0", "GPU-0::1"), false)).isEmpty();
    assertThat(held.overfull(replicas(five), List.of("GPU-0::0", "GPU-0::1", "GPU-0::2"), false))
        .hasValue("GPU-0");
    // What is picked again is free of its earlier holder.
    assertThat(held.overfull(replicas(five), List.of("GPU-0::0", "GPU-0::7"), false)).isEmpty();
  }

  @Test
  void moreReplicas_areOfferedOnlyWhereTheGpuHasRoom() {
    GpuSharing ten = sharing(GPU, 10);
    hold(sharing(GPU, 3), "GPU-0::0", "GPU-0::1", "GPU-0::2");
    assertThat(ids(make(ten), Stage.OFFERED)).isEmpty();
    hold(ten, "GPU-0::0", "GPU-0::1");
    // A third is free: three tenths.
    assertThat(ids(make(ten), Stage.OFFERED)).containsExactly("GPU-0::2", "GPU-0::3", "GPU-0::4");
    hold(ten, "GPU-0::0", "GPU-0::1", "GPU-0::3");
    assertThat(ids(make(ten), Stage.OFFERED)).containsExactly("GPU-0::2", "GPU-0::3", "GPU-0::4");
  }

  @Test
  void wholeGpuInUse_isNotCutUntilItIsFree() {
    hold(sharing(GPU, 1), "GPU-0");
    NodeReplicas replicas = make(sharing(GPU, 2));
    assertThat(ids(replicas, Stage.RETIRED)).containsExactly("GPU-0");
    assertThat(ids(replicas, Stage.WITHHELD)).containsExactly("GPU-0::0", "GPU-0::1");
    assertThat(replicas.count(Replica::healthy)).isEqualTo(1);
  }

  @Test
  void sharedGpuInUse_isNotGivenWhole() {
    hold(sharing(GPU, 10), "GPU-0::4");
    NodeReplicas replicas = make(sharing(GPU, 1));
    assertThat(ids(replicas, Stage.RETIRED)).containsExactly("GPU-0::4");
    assertThat(ids(replicas, Stage.WITHHELD)).containsExactly("GPU-0");
  }

  @Test
  void renamedResource_staysUntilItIsFree() {
    hold(sharing(GPU, 2), "GPU-0::0");
    NodeReplicas replicas = make(sharing(SHARED, 2));
    assertThat(replicas.byResource()).extracting(Replicas::resource).containsExactly(GPU, SHARED);
    assertThat(replicas.byResource().getFirst().all())
        .extracting(Replica::id, Replica::stage)
        .containsExactly(tuple("GPU-0::0", Stage.RETIRED));
    // The kubelet counts by name: to it, GPU-0::0 of the new one is free.
    assertThat(ids(replicas, Stage.OFFERED)).hasSize(1);
    assertThat(ids(replicas, Stage.WITHHELD)).hasSize(1);
    hold(sharing(SHARED, 2), holding(SHARED));
    assertThat(make(sharing(SHARED, 2)).byResource())
        .extracting(Replicas::resource)
        .containsExactly(SHARED);
  }

  @Test
  void heldReplica_isFreeOnlyWhenItHasBeenMissingForAWhile() {
    hold(sharing(GPU, 10), "GPU-0::9");
    Map<String, GpuSharing> four = byUuid(sharing(GPU, 4));
    assertThat(held.update(List.of(), true, four, nowMs)).isFalse();
    nowMs += HeldReplicas.FREE_AFTER_MS - 1;
    assertThat(held.update(List.of(), true, four, nowMs)).isFalse();
    assertThat(held.update(List.of(holding(GPU, "GPU-0::9")), true, four, nowMs)).isFalse();
    assertThat(held.update(List.of(), true, four, nowMs)).isFalse();
    assertThat(ids(make(sharing(GPU, 4)), Stage.RETIRED)).containsExactly("GPU-0::9");
    nowMs += HeldReplicas.FREE_AFTER_MS;
    assertThat(held.update(List.of(), true, four, nowMs)).isTrue();
    assertThat(ids(make(sharing(GPU, 4)), Stage.RETIRED)).isEmpty();
  }

  @Test
  void idThatAnotherPodGetsAtOnce_isOfTheSharingThatItWasGivenUnder() {
    Holding before = holding(GPU, "GPU-0::2").toBuilder().setPod("before").build();
    hold(sharing(GPU, 10), before);
    Map<String, GpuSharing> four = byUuid(sharing(GPU, 4));
    held.update(List.of(), true, four, nowMs);
    assertThat(held.update(List.of(before.toBuilder().setPod("after").build()), true, four, nowMs))
        .isTrue();
    assertThat(withheld(make(sharing(GPU, 10)))).isEqualTo(3);
  }

  @Test
  void listWithoutPodsOfTheApiServer_freesNothing_howeverLongItLasts() {
    hold(sharing(GPU, 4), "GPU-0::0", "GPU-0::1", "GPU-0::2", "GPU-0::3");
    Map<String, GpuSharing> ten = byUuid(sharing(GPU, 10));
    for (int i = 0; i < 3; i++) {
      nowMs += HeldReplicas.FREE_AFTER_MS;
      assertThat(held.update(List.of(), false, ten, nowMs)).isFalse();
    }
    // Nor does that time count afterwards.
    assertThat(held.update(List.of(), true, ten, nowMs)).isFalse();
    assertThat(withheld(make(sharing(GPU, 10)))).isEqualTo(10);
    nowMs += HeldReplicas.FREE_AFTER_MS;
    assertThat(held.update(List.of(), true, ten, nowMs)).isTrue();
    assertThat(withheld(make(sharing(GPU, 10)))).isZero();
  }

  @Test
  void recreatedPodOfTheSameName_holdsWhatAllocateGaveIt() {
    Holding statefulSets = holding(GPU, "GPU-0::2").toBuilder().setPod("db-0").build();
    hold(sharing(GPU, 10), statefulSets);
    Map<String, GpuSharing> four = byUuid(sharing(GPU, 4));
    held.allocated(replicas(four), List.of("GPU-0::2"), "", OptionalLong.empty());
    // What an Allocate has changed is published with the next List.
    assertThat(held.update(List.of(statefulSets), true, four, nowMs)).isTrue();
    assertThat(held.update(List.of(statefulSets), true, four, nowMs)).isFalse();
    assertThat(withheld(make(sharing(GPU, 10)))).isEqualTo(3);
  }

  @Test
  void idThatAnotherPodGets_isOfItsOwnAllocate_ifTheConfigChangesBeforeTheNextList() {
    Holding before = holding(GPU, "GPU-0::2").toBuilder().setPod("before").build();
    hold(sharing(GPU, 10), before);
    held.allocated(
        replicas(byUuid(sharing(GPU, 4))), List.of("GPU-0::2"), "", OptionalLong.empty());
    Holding after = before.toBuilder().setPod("after").build();
    held.update(List.of(after), true, byUuid(sharing(GPU, 5)), nowMs);
    assertThat(withheld(make(sharing(GPU, 10)))).isEqualTo(3);
  }

  @Test
  void holdings_areToldByTheReplicasThatTheyWereGivenAs() {
    hold(sharing(GPU, 10), "GPU-0::2", "GPU-0::9");
    Holding both = holding(GPU, "GPU-0::0", "GPU-0::2", "GPU-0::9");
    assertThat(held.byReplicas(List.of(both), byUuid(sharing(GPU, 4))))
        .extracting(Holding::getReplicasPerGpu, Holding::getDeviceIdsCount)
        .containsExactly(tuple(4, 1), tuple(10, 2));
  }

  @Test
  void restored_countsAsWhatItWasGivenFor() {
    held.restore(List.of(new HeldReplica(GPU, "GPU-0::0", 2)));
    assertThat(hold(sharing(GPU, 4), "GPU-0::0")).isFalse();
    assertThat(ids(make(sharing(GPU, 4)), Stage.OFFERED)).hasSize(2);
  }

  /** The kubelet lists no ordinary init container, and gives its replicas to no other pod. */
  @Test
  void leftByAnInitContainer_isHeldUntilItsPodEnds() {
    GpuSharing ten = sharing(GPU, 10);
    List<String> eight = IntStream.range(0, 8).mapToObj(i -> "GPU-0::" + i).toList();
    held.allocated(replicas(byUuid(ten)), eight, "ns/p", OptionalLong.empty());
    held.allocated(replicas(byUuid(ten)), eight.subList(2, 4), "", OptionalLong.empty());
    Holding app =
        holding(GPU, "GPU-0::2", "GPU-0::3").toBuilder()
            .setNamespace("ns")
            .setPod("p")
            .setContainer("main")
            .build();
    hold(ten, app);
    nowMs += 10 * HeldReplicas.FREE_AFTER_MS;
    hold(ten, app);
    assertThat(held.leftByInits(List.of(app)))
        .singleElement()
        .satisfies(
            left -> {
              assertThat(left.getPod()).isEqualTo("p");
              assertThat(left.getContainer()).isEmpty();
              assertThat(left.getReplicasPerGpu()).isEqualTo(10);
              assertThat(left.getDeviceIdsList())
                  .containsExactly(
                      "GPU-0::0", "GPU-0::1", "GPU-0::4", "GPU-0::5", "GPU-0::6", "GPU-0::7");
            });
    byte[] kept = HeldFile.content(held.all());
    held = new HeldReplicas();
    held.restore(HeldFile.parse(kept));
    hold(ten, app);
    NodeReplicas eighths = make(sharing(GPU, 8));
    assertThat(ids(eighths, Stage.OFFERED))
        .as("an id that the kubelet has")
        .containsExactly("GPU-0::8");
    assertThat(withheld(eighths)).isEqualTo(7);
    hold(ten, new Holding[0]);
    assertThat(held.all()).isEmpty();
  }

  /** The kubelet gave replicas to a second pod, kubernetes/kubernetes#137534. */
  @Test
  void replicasOfTwoPods_ofAnEarlierConfig_areHeldByBoth() {
    hold(sharing(GPU, 10), tenths("p"), tenths("q"));
    NodeReplicas five = make(sharing(GPU, 5));
    assertThat(withheld(five)).as("six tenths are three fifths").isEqualTo(3);
    assertThat(ids(five, Stage.RETIRED)).containsExactly("GPU-0::0", "GPU-0::1", "GPU-0::2");
    assertThat(withheld(make(sharing(GPU, 10)))).as("they have ids").isZero();
  }

  @Test
  void replicasOfTwoPods_besideThoseOfOtherConfigs_keepTheirParts() {
    GpuSharing four = sharing(GPU, 4);
    hold(sharing(GPU, 10), tenths("p"), tenths("q"));
    held.allocated(replicas(byUuid(four)), List.of("GPU-0::4"), "", OptionalLong.empty());
    Holding quarter = holding(GPU, "GPU-0::4").toBuilder().setPod("r").build();
    // The kubelet lists pods in any order.
    hold(four, tenths("q"), quarter, tenths("p"));
    hold(four, quarter, tenths("p"), tenths("q"));
    assertThat(withheld(make(sharing(GPU, 20)))).as("6 of 10, 1 of 4").isEqualTo(12 + 5);
    byte[] kept = HeldFile.content(held.all());
    held = new HeldReplicas();
    held.restore(HeldFile.parse(kept));
    assertThat(withheld(make(sharing(GPU, 20)))).as("after a restart").isEqualTo(12 + 5);
    hold(four, quarter, tenths("q"));
    assertThat(withheld(make(sharing(GPU, 20)))).as("one has ended").isEqualTo(6 + 5);
  }

  @Test
  void replicasOfTwoPods_listedBitByBit_areHeldByBoth() {
    hold(sharing(GPU, 10), tenths("p"), tenths("q"));
    Map<String, GpuSharing> five = byUuid(sharing(GPU, 5));
    held.update(List.of(tenths("p")), true, five, nowMs);
    nowMs += HeldReplicas.FREE_AFTER_MS - 1;
    held.update(List.of(tenths("p")), true, five, nowMs);
    assertThat(withheld(make(sharing(GPU, 5)))).isEqualTo(3);
    nowMs++;
    assertThat(held.update(List.of(tenths("p")), true, five, nowMs)).isTrue();
    assertThat(withheld(make(sharing(GPU, 5)))).isEqualTo(2);
  }

  @Test
  void containersOfOnePod_holdAReplicaOnce() {
    Holding main = tenths("p").toBuilder().setContainer("main").build();
    hold(sharing(GPU, 10), main, main.toBuilder().setContainer("second").build());
    assertThat(withheld(make(sharing(GPU, 10)))).isZero();
    assertThat(withheld(make(sharing(GPU, 5)))).isEqualTo(2);
    assertThat(held.duplicates()).isZero();
  }

  /** The kubelet has ids left, and the GPU has not. */
  @Test
  void replicasOfTwoPods_leaveNoRoomForMoreThanTheWholeGpu() {
    GpuSharing ten = sharing(GPU, 10);
    hold(ten, tenths("p"), tenths("q"));
    String[] ids = ids(ten);
    List<String> four = List.of(ids).subList(3, 7);
    List<String> five = List.of(ids).subList(3, 8);
    assertThat(held.overfull(replicas(byUuid(ten)), four, false)).isEmpty();
    assertThat(held.overfull(replicas(byUuid(ten)), five, false)).hasValue("GPU-0");
    // The extender knows sooner when one of the pods ends.
    assertThat(held.overfull(replicas(byUuid(ten)), five, true)).isEmpty();
    assertThat(held.duplicates()).isEqualTo(3);
    assertThat(held.duplicates(replicas(byUuid(ten)))).isEqualTo(Map.of("GPU-0", 3));
    assertThat(held.duplicates(replicas(byUuid(sharing(GPU, 5))))).as("withheld").isEmpty();
    // The extender knows of earlier replicas what the node withholds, and no more.
    Map<String, GpuSharing> fifths = byUuid(sharing(GPU, 5));
    assertThat(held.overfull(replicas(fifths), List.of("GPU-0::3", "GPU-0::4"), true)).isEmpty();
    assertThat(held.overfull(replicas(fifths), List.of("GPU-0::3", "GPU-0::4", "GPU-0::5"), true))
        .hasValue("GPU-0");
  }

  private static Holding tenths(String pod) {
    return holding(GPU, "GPU-0::0", "GPU-0::1", "GPU-0::2").toBuilder().setPod(pod).build();
  }

  @Test
  void foreignGpus_areNotOurs() {
    hold(sharing(GPU, 2), "GPU-7::0");
    assertThat(ids(make(sharing(GPU, 2)), Stage.RETIRED)).isEmpty();
  }
}
