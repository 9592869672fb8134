package dev.tranche.extender.readapi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.Limited;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.readapi.query.ListQuery;
import dev.tranche.extender.readapi.row.CandidateNodes;
import dev.tranche.extender.readapi.row.GpuList;
import dev.tranche.extender.readapi.row.GpuShare;
import dev.tranche.extender.readapi.row.NodeCount;
import dev.tranche.extender.readapi.row.PodDetail;
import dev.tranche.extender.readapi.row.PodList;
import dev.tranche.extender.readapi.row.Snapshot;
import dev.tranche.extender.readapi.row.Summary;
import dev.tranche.extender.readapi.row.View;
import dev.tranche.extender.readapi.row.Waiting;
import dev.tranche.extender.readapi.row.WaitingReasons;
import dev.tranche.extender.readapi.row.WhatIfAnswer;
import dev.tranche.extender.readapi.row.WhatIfAnswer.Counted;
import dev.tranche.extender.readapi.row.WhatIfAnswer.PodsOnNode;
import dev.tranche.extender.readapi.table.Output;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.selection.NodeFilter;
import dev.tranche.extender.verb.FakeWorld;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Answers about a small cluster, as kubectl's user sees them. */
final class RenderingTest {
  private static final ListQuery ALL = new ListQuery(Map.of(), 100, "");
  private static final Instant NOW = Instant.parse("2026-11-23T20:00:00Z");

  private final FakeWorld world = new FakeWorld(Policy.LOAD);
  private final WaitingReasons reasons = new WaitingReasons(world.explanations);

  @BeforeEach
  void fill() {
    fill(world);
  }

  /** Two nodes of which one is full, a pod that holds a GPU, and one that waits. */
  static void fill(FakeWorld world) {
    var reading =
        new LoadReading(
            3 * FakeWorld.GIB,
            0.9,
            0.25,
            1,
            world.nowMs,
            Map.of("ns/held", 2 * FakeWorld.GIB),
            Map.of("ns/held", 0.2),
            null,
            true);
    world.report("a", Map.of("a0", reading), new Gpu("a0", 0, 0), new Gpu("a1", 0, 0));
    world.report("b", new Gpu("b0", 0.9, 10 * FakeWorld.GIB));
    world.see(FakeWorld.pod("held", 3, "tranche.dev/gpu=a0").on("a"));
    var waiting = FakeWorld.pod("waiting", 3);
    world.see(waiting);
    world.filter().filter(waiting, List.of("b"), false);
  }

  private Summary summary() {
    return Summary.of(Snapshot.of(world.inspection()), reasons, ALL);
  }

  private GpuList gpus() {
    return GpuList.of(Snapshot.of(world.inspection()), View.ALL, ALL);
  }

  private PodList pods() {
    return PodList.of(Snapshot.of(world.inspection()), reasons, View.ALL, ALL);
  }

  private PodDetail pod(String name) {
    var message =
        Optional.of("0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")
            .filter(any -> name.equals("waiting"));
    return world.explained("ns/" + name, Optional.empty(), message, View.ALL);
  }

  private PodDetail explained(String name, Optional<NodeFilter> filter) {
    return world.explained("ns/" + name, filter);
  }

  private static String shown(Record answer, Output output) {
    return output.of(answer, NOW);
  }

  @Test
  void nodes_areATable() {
    assertThat(shown(summary(), Output.TABLE))
        .isEqualTo(
            """
            NODE   GPUS   GRANTED   GRANTED%   SM%   MEMORY-USED   MEMORY
            a      2      0.3       15%        25%   3.0Gi         20.0Gi
            b      1      0         0%         90%   10.0Gi        10.0Gi
            """);
  }

  @Test
  void limitOfAPodsMemory_isInTheApi_andInAWideColumn() {
    assertThat(shown(pods(), Output.JSON)).doesNotContain("limited");
    var gpu =
        new GpuFacts(
            "a0",
            0,
            "Tesla T4",
            Names.RESOURCE,
            10,
            10 * FakeWorld.GIB,
            true,
            "",
            0,
            "",
            0,
            Map.of("ns/held", Limited.PARTLY));
    var state = new NodeState(true, List.of(gpu), Map.of(), true, Map.of(), List.of());
    world.state.reported(new Event.Reported("a", state, OptionalLong.of(0)), Map.of());
    assertThat(shown(pods(), Output.WIDE)).contains("LIMITED", "Partly");
    assertThat(shown(pods(), Output.JSON)).contains("\"limited\" : \"Partly\"");
  }

  @Test
  void gpus_areATable_andUnknownLoadIsNoZero() {
    assertThat(shown(gpus(), Output.TABLE).lines().map(l -> l.replaceAll(" +", " ")))
        .containsExactly(
            "NODE GPU MODEL GRANTED FREE USABLE SM% SM%-10S-MEAN MEMORY-USED MEMORY HEALTH PODS",
            "a 0 Tesla T4 0.3 7/10 6/10 90% 25% 3.0Gi 10.0Gi Healthy 1",
            "a 1 Tesla T4 0 10/10 10/10 <unknown> <unknown> <unknown> 10.0Gi Healthy 0",
            "b 0 Tesla T4 0 10/10 0/10 90% 90% 10.0Gi 10.0Gi Healthy,Overused 0");
    assertThat(shown(gpus(), Output.WIDE)).contains("UUID", "a0", "ns/held", "READING");
  }

  @Test
  void pods_areATable_withTheReasonOfThoseThatWait() {
    assertThat(shown(pods(), Output.TABLE).lines().map(l -> l.replaceAll(" +", " ")))
        .containsExactly(
            "NAMESPACE NAME STATE NODE GPU REQUESTED GRANTED SM% MEMORY-USED WAITING AGE",
            "ns held Bound a 0 0.3 0.3 20% 2.0Gi <none> <unknown>",
            "ns waiting Waiting <none> <none> 0.3 <none> <none> <none> Memory <unknown>");
    assertThat(shown(pods(), Output.WIDE)).contains("STAGE", "BECAUSE");
  }

  /** A terminal would obey them, also in JSON. The values stay the same. */
  @Test
  void charactersThatSteerATerminal_areEscapedInEachForm() {
    String hostile = "a\u001b[2J\u009b31m\u202eb\udb40\udc01";
    world.see(FakeWorld.pod("hostile", 3, "tranche.dev/gpu-model=" + hostile));
    PodDetail pod = explained("hostile", Optional.empty());
    for (Output output : Output.values()) {
      assertThat(shown(pod, output)).doesNotContain("\u001b", "\u009b", "\u202e", "\udb40");
    }
    assertThat(
            new JsonObject(shown(pod, Output.JSON))
                .getJsonObject("annotations")
                .getString("tranche.dev/gpu-model"))
        .isEqualTo(hostile);
  }

  @Test
  void boundPod_isDescribed() {
    assertThat(shown(pod("held"), Output.TABLE))
        .contains("Name:          held\n", "Node:          a\n")
        .contains("GPUs:          0 (a0): 3 of 10 replicas\n")
        .contains("Granted:       0.3 GPUs, 3.0Gi of memory\n");
  }

  @Test
  void waitingPod_isDescribed_withEachGpuAndWhatToDo() {
    assertThat(shown(pod("waiting"), Output.TABLE))
        .contains("State:         Waiting\n", "Waits because: Memory: ")
        .contains("Does not fit:  1 node\n", "Nodes, nearest:\nNODE ")
        .contains("Scheduler:     0/1 nodes are available", "What to do:    ");
  }

  @Test
  void waitingPod_isToldASmallerShare() {
    world.see(FakeWorld.pod("x", 1, "tranche.dev/gpu=a1").on("a"));
    world.see(FakeWorld.pod("big", 10));
    assertThat(shown(explained("big", Optional.of(node -> Optional.empty())), Output.TABLE))
        .contains("Smaller share: 0.9 per GPU would fit now, such as on node a\n");
  }

  @Test
  void whatIf_beginsWithWhetherItFits() {
    WhatIfAnswer fits = fits(null);
    assertThat(shown(fits, Output.TABLE))
        .startsWith("Fits:          yes\n")
        .contains("Node:          a\n", "GPUs:          0 (a0): 3 of 10 replicas\n")
        .contains("               1 × full\n", "               4 × by its taints\n");
    var counted = new Counted(20, 6, false, List.of(new PodsOnNode("a", 6)));
    assertThat(shown(fits(counted), Output.TABLE))
        .startsWith("Fits:          6 of 20, and perhaps more: the time limit was reached\n")
        .contains("               6 on a\n");
    var complete = new Counted(20, 6, true, List.of(new PodsOnNode("a", 6)));
    // Of two nodes one is full for the seventh pod: there are not three.
    assertThat(shown(fits(complete), Output.TABLE))
        .contains("First pod fits: 2 nodes\n", "Pod 7:         does not fit 1 node\n")
        .doesNotContain("Fitting:", "Does not fit:");
    var waits =
        new WhatIfAnswer(
            NOW,
            "ns",
            "p",
            "nvidia.com/gpu",
            "load",
            false,
            new Waiting("Fragmented", "no GPU has room", null, null, null),
            null,
            null,
            null,
            new CandidateNodes(List.of(), 0, List.of(), 1, List.of()),
            List.of(),
            0,
            null);
    assertThat(shown(waits, Output.WIDE))
        .startsWith("Fits:          no\n")
        .contains("Waits because: Fragmented: no GPU has room\n");
  }

  private static WhatIfAnswer fits(@Nullable Counted count) {
    return new WhatIfAnswer(
        NOW,
        "ns",
        "p",
        "nvidia.com/gpu",
        "load",
        true,
        null,
        "a",
        7,
        List.of(new GpuShare("a0", 0, 3, 10, null)),
        new CandidateNodes(List.of(), 2, List.of(), 1, List.of(new NodeCount("full", 1))),
        List.of(new NodeCount("by its taints", 4)),
        4,
        count);
  }
}
