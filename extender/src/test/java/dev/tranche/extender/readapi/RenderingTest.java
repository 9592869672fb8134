package dev.tranche.extender.readapi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.load.Readings;
import dev.tranche.extender.readapi.query.ListQuery;
import dev.tranche.extender.readapi.query.Page;
import dev.tranche.extender.readapi.row.ExplainJson;
import dev.tranche.extender.readapi.row.GpuJson;
import dev.tranche.extender.readapi.row.PodJson;
import dev.tranche.extender.readapi.row.Snapshot;
import dev.tranche.extender.readapi.row.SummaryJson;
import dev.tranche.extender.readapi.row.WaitingReasons;
import dev.tranche.extender.readapi.table.Output;
import dev.tranche.extender.readapi.table.Text;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.FakeWorld;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Answers about a small cluster, as kubectl's user sees them. */
final class RenderingTest {
  private static final Instant NOW = Instant.parse("2026-11-23T20:00:00Z");

  private final FakeWorld world = new FakeWorld(Policy.LOAD);
  private final WaitingReasons reasons = new WaitingReasons(world.explanations);

  @BeforeEach
  void fill() {
    var reading =
        Readings.of(
            3 * FakeWorld.GIB,
            0.25,
            1,
            world.nowMs,
            Map.of("ns/held", 2 * FakeWorld.GIB),
            Map.of("ns/held", 0.2));
    world.report("a", Map.of("a0", reading), new Gpu("a0", 0, 0), new Gpu("a1", 0, 0));
    world.report("b", new Gpu("b0", 0.9, 10 * FakeWorld.GIB));
    world.state.apply(new Event.PodSeen(FakeWorld.pod("held", 3, "tranche.dev/gpu=a0").on("a")));
    var waiting = FakeWorld.pod("waiting", 3);
    world.state.apply(new Event.PodSeen(waiting));
    world.filter().filter(waiting, List.of("b"), false);
  }

  private static ListQuery rows(int limit) {
    return new ListQuery(Map.of(), limit, "");
  }

  private JsonObject summary(int limit) {
    return new SummaryJson(reasons).of(Snapshot.of(world.inspection()), rows(limit), NOW);
  }

  private JsonObject gpus() {
    Snapshot seen = Snapshot.of(world.inspection());
    return list(seen)
        .mergeIn(
            Page.of(
                "items",
                seen.gpus,
                Snapshot.GpuRow::key,
                row -> true,
                GpuJson::of,
                rows(100),
                NOW));
  }

  private JsonObject pods() {
    Snapshot seen = Snapshot.of(world.inspection());
    return list(seen)
        .mergeIn(
            Page.of(
                "items",
                seen.pods,
                Snapshot.PodRow::key,
                row -> true,
                new PodJson(reasons)::of,
                rows(100),
                NOW));
  }

  private static JsonObject list(Snapshot seen) {
    return new JsonObject().put("time", seen.inspection.at().toString());
  }

  private JsonObject pod(String name) {
    JsonObject explained =
        world.explain().of("ns/" + name).orElseThrow().answer().apply(Optional.empty());
    var row =
        Snapshot.of(world.inspection()).pods.stream()
            .filter(p -> p.pod().name().equals(name))
            .findFirst()
            .map(new PodJson(reasons)::of);
    var message = Optional.of("0/1 nodes are available: 1 Insufficient nvidia.com/gpu.");
    return ExplainJson.of(explained, row, "waiting".equals(name) ? message : Optional.empty());
  }

  /** As it arrives: of text, and so with maps for objects. */
  private static String shown(Text text, JsonObject answer, Output output) {
    return text.of(new JsonObject(answer.encode()), output, NOW);
  }

  @Test
  void nodes_areATable() {
    assertThat(shown(Text.NODES, summary(100), Output.TABLE))
        .isEqualTo(
            """
            NODE   GPUS   GRANTED   GRANTED%   SM%   MEMORY-USED   MEMORY
            a      2      0.3       15%        25%   3.0Gi         20.0Gi
            b      1      0         0%         90%   10.0Gi        10.0Gi
            """);
  }

  @Test
  void tableOfAPage_endsWithTheWayToTheNext() {
    String table = shown(Text.NODES, summary(1), Output.TABLE);
    assertThat(table.lines()).hasSize(3);
    assertThat(table.lines().skip(2)).first().asString().matches("# 1 more: continue=[\\w-]+=*");
  }

  @Test
  void gpus_areATable_andUnknownLoadIsNoZero() {
    assertThat(shown(Text.GPUS, gpus(), Output.TABLE).lines().map(l -> l.replaceAll(" +", " ")))
        .containsExactly(
            "NODE GPU MODEL GRANTED FREE SM% MEMORY-USED MEMORY HEALTH PODS",
            "a 0 Tesla T4 0.3 7/10 25% 3.0Gi 10.0Gi Healthy 1",
            "a 1 Tesla T4 0 10/10 <unknown> <unknown> 10.0Gi Healthy 0",
            "b 0 Tesla T4 0 10/10 90% 10.0Gi 10.0Gi Healthy 0");
    assertThat(shown(Text.GPUS, gpus(), Output.WIDE)).contains("UUID", "a0", "ns/held", "READING");
  }

  @Test
  void pods_areATable_withTheReasonOfThoseThatWait() {
    assertThat(shown(Text.PODS, pods(), Output.TABLE).lines().map(l -> l.replaceAll(" +", " ")))
        .containsExactly(
            "NAMESPACE NAME STATE NODE GPU GRANTED SM% MEMORY-USED WAITING",
            "ns held Bound a 0 0.3 20% 2.0Gi <none>",
            "ns waiting Waiting <none> <none> <none> <none> <none> Memory");
    assertThat(shown(Text.PODS, pods(), Output.WIDE)).contains("STAGE", "BECAUSE");
  }

  @Test
  void boundPod_isDescribed() {
    assertThat(shown(Text.POD, pod("held"), Output.TABLE))
        .contains("Name:          held\n", "Node:          a\n")
        .contains("GPUs:          0 (a0): 3 of 10 replicas\n")
        .contains("Granted:       0.3 GPUs, 3.0Gi of memory\n");
  }

  @Test
  void waitingPod_isDescribed_withEachGpuAndWhatToDo() {
    assertThat(shown(Text.POD, pod("waiting"), Output.TABLE))
        .contains("State:         Waiting\n", "Waits because: Memory: ")
        .contains("Does not fit:  1 nodes\n", "Nodes, nearest:\nNODE ")
        .contains("Scheduler:     0/1 nodes are available", "What to do:    ");
    JsonObject waiting = pod("waiting");
    waiting
        .getJsonObject("decision")
        .put(
            "smallerShare",
            new JsonObject("{\"replicas\":2,\"replicasPerGpu\":10,\"node\":\"a\"}"));
    assertThat(shown(Text.POD, waiting, Output.TABLE))
        .contains("Smaller share: 2 of 10 replicas would fit now, such as on a\n");
  }

  @Test
  void whatIf_beginsWithWhetherItFits() {
    var fits =
        new JsonObject(
            """
            {"namespace":"ns","name":"p","resource":"nvidia.com/gpu","policy":"load","fits":true,
             "node":"a","score":7,"gpus":[{"uuid":"a0","index":0,"replicas":3,"replicasPerGpu":10}],
             "fitted":[],"fittedCount":2,"refused":[],"refusedCount":1,
             "refusedByReason":[{"message":"full","nodes":1}],
             "excludedByReason":[{"message":"by its taints","nodes":4}],"excludedCount":4}
            """);
    assertThat(shown(Text.WHAT_IF, fits, Output.TABLE))
        .startsWith("Fits:          yes\n")
        .contains("Node:          a\n", "GPUs:          0 (a0): 3 of 10 replicas\n")
        .contains("               1 × full\n", "               4 × by its taints\n");
    fits.put(
        "count",
        new JsonObject(
            """
            {"asked":20,"fit":6,"complete":false,"nodes":[{"node":"a","pods":6}]}
            """));
    assertThat(shown(Text.WHAT_IF, fits, Output.TABLE))
        .startsWith("Fits:          6 of 20, and perhaps more: the time was up\n")
        .contains("               6 on a\n");
    var waits =
        new JsonObject(
            """
            {"namespace":"ns","name":"p","resource":"nvidia.com/gpu","policy":"load","fits":false,
             "waiting":{"reason":"Fragmented","message":"no GPU has room"},
             "fitted":[],"fittedCount":0,"refused":[],"refusedCount":1,"refusedByReason":[],
             "excludedByReason":[],"excludedCount":0}
            """);
    assertThat(shown(Text.WHAT_IF, waits, Output.WIDE))
        .startsWith("Fits:          no\n")
        .contains("Waits because: Fragmented: no GPU has room\n");
  }

  @Test
  void yamlAndJson_haveTheApisFields() {
    JsonObject gpus = gpus();
    assertThat(shown(Text.GPUS, gpus, Output.YAML)).contains("\nitems:\n- node: a\n  index: 0\n");
    assertThat(new JsonObject(shown(Text.GPUS, gpus, Output.JSON)))
        .isEqualTo(new JsonObject(gpus.encode()));
  }
}
