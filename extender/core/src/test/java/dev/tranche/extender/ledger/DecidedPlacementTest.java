package dev.tranche.extender.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Demand.Kind;
import dev.tranche.api.Demand.Request;
import dev.tranche.api.Names;
import dev.tranche.extender.placement.Placement;
import dev.tranche.process.fuzz.Seeds;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * What was decided for a pod is read back as it was decided: from its annotations, and from a
 * node's echo, by an extender that did not decide it.
 */
final class DecidedPlacementTest extends LedgerRig {
  private static final Request TWELVE = new Request("main", Kind.APP, 12);
  private static final Request INIT_FIVE = new Request("init", Kind.INIT, 5);
  private static final Request APP_TWO = new Request("main", Kind.APP, 2);

  private static PodFacts plain(@Nullable String node, Request... requests) {
    return TestFacts.pod("p", node, Map.of(), requests);
  }

  /** A node whose GPUs have so many replicas, of which others hold some. */
  private void node(int replicas, List<Assignment> echoes, int... taken) {
    var gpus = new ArrayList<GpuFacts>();
    var others = new HashMap<String, Map<String, Map<String, Integer>>>();
    for (int i = 0; i < taken.length; i++) {
      gpus.add(gpu("gpu-" + i, i, replicas));
      if (taken[i] > 0) {
        others.put("ns/other-" + i, Map.of("main", Map.of("gpu-" + i, taken[i])));
      }
    }
    apply(reported(NODE, new NodeState(true, gpus, others, true, Map.of(), echoes)));
  }

  private Placement place(PodFacts pod) {
    return Views.place(ledger, pod, NODE, nowMs).orElseThrow();
  }

  private static PodFacts bound(PodFacts pod, Placement place, int replicas) {
    var annotations = new HashMap<>(pod.annotations());
    annotations.put(Names.GPU, place.annotation());
    annotations.put(Names.GRANTED_REPLICAS, place.replicasAnnotation(uuid -> replicas));
    return TestFacts.pod("p", NODE, annotations, pod.requests().toArray(new Request[0]));
  }

  private Hold hold() {
    return ledger.hold("p").orElseThrow();
  }

  @Test
  void plainNumberAboveR_isReadAsItWasSplit() {
    node(10, List.of(), 2, 4);
    Placement place = place(plain(null, TWELVE));
    assertThat(place.held()).isEqualTo(Map.of("gpu-0", 8, "gpu-1", 4));
    PodFacts bound = bound(plain(null, TWELVE), place, 10);
    assertThat(bound.annotations())
        .containsEntry(Names.GPU, "gpu-0,gpu-1")
        .containsEntry(Names.GRANTED_REPLICAS, "8/10,4/10");
    var decisions = apply(new Event.PodSeen(bound));
    assertThat(hold().held()).isEqualTo(place.held());
    assertThat(hold().replicasPerGpu()).isEqualTo(10);
    assertThat(free("gpu-0")).isZero();
    assertThat(free("gpu-1")).isEqualTo(2);
    // The plugin refuses a share that is not split as it was assigned.
    assertThat(decisions)
        .filteredOn(d -> d instanceof Decision.Assign)
        .allSatisfy(
            d -> assertThat(((Decision.Assign) d).assignment().placement()).isEqualTo(place));
  }

  @Test
  void countsThatContradictTheRequest_areNotBelieved_andThePodCountsOnEachGpu() {
    node(10, List.of(), 0, 0);
    for (String counts :
        List.of(
            "1/10,1/10", "8/10", "11/10,1/10", "8/1000,4", "", "8/10,4/10,1/10", "0/10,12/10")) {
      var annotations = Map.of(Names.GPU, "gpu-0,gpu-1", Names.GRANTED_REPLICAS, counts);
      apply(new Event.PodSeen(TestFacts.pod("p", NODE, annotations, TWELVE)));
      assertThat(hold().placement()).as(counts).isNull();
      assertThat(free("gpu-0") + free("gpu-1")).as(counts).isZero();
    }
    var stamped =
        Map.of(
            Names.GPU, "gpu-0",
            Names.GRANTED_REPLICAS, "3/100",
            Names.REPLICAS_PER_GPU, "10");
    apply(new Event.PodSeen(TestFacts.pod("p", NODE, stamped, new Request("main", Kind.APP, 3))));
    assertThat(hold().replicasPerGpu()).isEqualTo(10);
  }

  /** The node's GPUs are split anew before the pod's replicas are listed. */
  @Test
  void plainNumber_countsInTheReplicasThatItWasGrantedIn() {
    node(4, List.of(), 0, 0);
    PodFacts bound = bound(plain(null, APP_TWO), on("gpu-0", 2), 4);
    node(10, List.of(), 0, 0);
    apply(new Event.PodSeen(bound));
    assertThat(free("gpu-0")).as("two of four are half of ten").isEqualTo(5);
  }

  @Test
  void echo_hasWhatInitContainersUse() {
    node(3, List.of(), 0, 0);
    PodFacts pod = plain(null, INIT_FIVE, APP_TWO);
    Placement place = place(pod);
    assertThat(place.held().values()).containsExactlyInAnyOrder(3, 2);
    // Another extender has decided it, and no watch has shown its binding here.
    apply(new Event.PodSeen(pod));
    node(3, List.of(echo(pod, place)), 0, 0);
    assertThat(hold().held()).isEqualTo(place.held());
    apply(new Event.PodSeen(bound(pod, place, 3)));
    assertThat(hold().held()).isEqualTo(place.held());
    assertThat(free("gpu-0") + free("gpu-1")).isEqualTo(1);
  }

  @Test
  void podInMidBind_countsWithItsInitContainer_afterAChangeOfLeader() {
    node(10, List.of(), 0, 0);
    PodFacts pod = plain(null, new Request("init", Kind.INIT, 8), APP_TWO);
    Placement place = place(pod);
    node(10, List.of(echo(pod, place)), 0, 0);
    String uuid = place.annotation();
    assertThat(free(uuid)).as("no watch has shown the pod").isEqualTo(2);
  }

  private static Assignment echo(PodFacts pod, Placement place) {
    int of = place.held().size() == 1 ? 10 : 3;
    return new Assignment("p", pod.key(), pod.resource(), place, of, Map.of());
  }

  @Test
  void list_hasWhatInitContainersHaveLeft_ifTheNodeKnows() {
    node(3, List.of(), 0, 0);
    PodFacts pod = plain(null, INIT_FIVE, APP_TWO);
    Placement place = place(pod);
    apply(new Event.PodSeen(bound(pod, place, 3)));
    nowMs += 10_000;
    // The kubelet gives the app container any of the init container's replicas.
    var listed = Map.of("main", Map.of("gpu-1", 2), "", Map.of("gpu-0", 2, "gpu-1", 1));
    report3(Map.of("ns/p", listed));
    assertThat(hold().confirmed()).isTrue();
    assertThat(hold().held()).isEqualTo(Map.of("gpu-0", 2, "gpu-1", 3));
    // What contradicts the request may be another pod's.
    report3(Map.of("ns/p", Map.of("main", Map.of("gpu-1", 2), "", Map.of("gpu-0", 1))));
    assertThat(hold().held()).containsEntry("gpu-0", 3).containsEntry("gpu-1", 3);
  }

  private void report3(Map<String, Map<String, Map<String, Integer>>> holdings) {
    var gpus = List.of(gpu("gpu-0", 0, 3), gpu("gpu-1", 1, 3));
    apply(reported(NODE, new NodeState(true, gpus, holdings, true, Map.of(), List.of())));
  }

  /** Any pod on any node: another extender reads what this one has decided. */
  @Test
  void anyPlacement_isReadAsItWasDecided() {
    int split = 0;
    long[] seeds = Seeds.of(2_000);
    for (long seed : seeds) {
      RandomGenerator random = Seeds.random(seed);
      int replicas = 2 + random.nextInt(9);
      var taken = new int[1 + random.nextInt(4)];
      for (int i = 0; i < taken.length; i++) {
        taken[i] = random.nextInt(replicas + 1);
      }
      var requests = new ArrayList<Request>();
      int count = 1 + random.nextInt(3);
      for (int i = 0; i < count; i++) {
        Kind kind = i == count - 1 ? Kind.APP : Kind.values()[random.nextInt(3)];
        requests.add(new Request("c" + i, kind, 1 + random.nextInt(2 * replicas)));
      }
      requests.sort((a, b) -> Boolean.compare(a.kind() == Kind.APP, b.kind() == Kind.APP));
      PodFacts pod = plain(null, requests.toArray(new Request[0]));
      var deciding = new DecidedPlacementTest();
      deciding.node(replicas, List.of(), taken);
      Placement place = Views.place(deciding.ledger, pod, NODE, nowMs).orElse(null);
      if (place == null) {
        continue;
      }
      split += place.held().size() > 1 ? 1 : 0;
      var reading = new DecidedPlacementTest();
      reading.node(replicas, List.of(), taken);
      reading.apply(new Event.PodSeen(bound(pod, place, replicas)));
      assertThat(reading.hold().held()).as("seed %d: %s", seed, pod).isEqualTo(place.held());
      if (reading.hold().exact()) {
        assertThat(reading.hold().placement()).as("seed %d: %s", seed, pod).isEqualTo(place);
      }
    }
    assertThat(split).isGreaterThan(seeds.length / 20);
  }
}
