package dev.tranche.extender.readapi.change;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.explain.Inspector;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.readapi.OpenApi;
import dev.tranche.extender.readapi.row.Snapshot;
import dev.tranche.extender.readapi.row.WaitingReasons;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.FakeWorld;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import dev.tranche.process.fuzz.Seeds;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.LongStream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Who follows the changes knows what all rows would say. */
final class ChangesTest {
  private final FakeWorld world = new FakeWorld(Policy.LOAD);
  private final WaitingReasons reasons = new WaitingReasons(world.explanations);
  private final Changes changes = new Changes(reasons, "");

  private Snapshot last = Snapshot.of(world.inspection());
  private String known = "";
  private long nowMs;

  @BeforeEach
  void fill() {
    world.report("a", new Gpu("a0", 0.25, FakeWorld.GIB), new Gpu("a1", 0, 0));
    world.report("b", new Gpu("b0", 0.9, 10 * FakeWorld.GIB));
    world.see(FakeWorld.pod("held", 3, "tranche.dev/gpu=a0").on("a"));
    next();
  }

  /** The rows are taken over from the snapshot before, as readers have them. */
  private JsonObject next() {
    last = Snapshot.of(world.inspection(), last);
    nowMs += Changes.PERIOD_MS;
    JsonObject change = after(known);
    known = change.getString("resourceVersion");
    return change;
  }

  private JsonObject after(String version) {
    var compressed = new ByteArrayInputStream(changes.after(version, last, nowMs).getBytes());
    try (var in = new GZIPInputStream(compressed)) {
      var json = Buffer.buffer(in.readAllBytes()).toJsonObject();
      OpenApi.assertIs("Change", json.encode());
      return json;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private JsonObject complete() {
    return after("");
  }

  @Test
  void completeAnswer_isWhatTheListsSay() {
    JsonObject whole = complete();
    assertThat(whole.getBoolean("complete")).isTrue();
    assertThat(whole.getJsonArray("gpus")).hasSize(3);
    assertThat(whole.getJsonArray("pods")).hasSize(1);
    assertThat(whole.getJsonObject("summary").containsKey("nodes")).isFalse();
  }

  @Test
  void nothingHasChanged_whileTimeAlonePasses() {
    String before = known;
    world.nowMs += 1_000;
    JsonObject change = next();
    assertThat(known).isEqualTo(before);
    assertThat(change.fieldNames())
        .containsExactlyInAnyOrder("resourceVersion", "time", "complete");
  }

  @Test
  void changes_areASecondApart() {
    String before = known;
    world.report("b", new Gpu("b0", 0.5, 10 * FakeWorld.GIB));
    last = Snapshot.of(world.inspection(), last);
    nowMs += Changes.PERIOD_MS - 1;
    assertThat(after(before).getString("resourceVersion")).isEqualTo(before);
    nowMs += 1;
    assertThat(after(before).getString("resourceVersion")).isNotEqualTo(before);
  }

  @Test
  void fieldThatIsGone_isNull() {
    world.see(FakeWorld.pod("waiting", 3));
    next();
    world.see(FakeWorld.pod("waiting", 3, "tranche.dev/gpu=a1").on("a"));
    JsonObject pod = next().getJsonArray("pods").getJsonObject(0);
    assertThat(pod.getString("name")).isEqualTo("waiting");
    assertThat(pod.containsKey("waiting")).isTrue();
    assertThat(pod.getValue("waiting")).isNull();
  }

  /** An object of a row is sent whole. */
  @Test
  void newReading_isToldOfItsGpuAlone_andOnlyWhatIsOther() {
    world.nowMs += 1_000;
    world.report("b", new Gpu("b0", 0.5, 10 * FakeWorld.GIB));
    JsonObject change = next();
    assertThat(change.getBoolean("complete")).isFalse();
    assertThat(change.getJsonArray("gpus")).hasSize(1);
    assertThat(change.getJsonArray("pods")).isEmpty();
    JsonObject row = change.getJsonArray("gpus").getJsonObject(0);
    assertThat(row.fieldNames())
        .containsExactlyInAnyOrder("node", "index", "uuid", "measured", "effective");
    assertThat(row.getJsonObject("measured").getString("sm")).isEqualTo("500m");
  }

  @Test
  void rowsThatAreGone_areNamed() {
    world.state.apply(new Event.PodGone("held", "ns/held"));
    world.report("a", new Gpu("a0", 0.25, FakeWorld.GIB));
    JsonObject change = next();
    assertThat(change.getJsonArray("gpusRemoved")).containsExactly("a/a1");
    assertThat(change.getJsonArray("podsRemoved")).containsExactly("ns/held");
  }

  @Test
  void gpuThatMovesToAnotherNode_isGoneFromTheFirstAlone() {
    world.report("b", new Gpu("b0", 0.9, 10 * FakeWorld.GIB), new Gpu("a1", 0, 0));
    next();
    world.report("a", new Gpu("a0", 0.25, FakeWorld.GIB));
    assertThat(next().getJsonArray("gpusRemoved")).containsExactly("a/a1");
  }

  /** Whoever is a little behind is told of each change, and all readers of the same bytes. */
  @Test
  void readerBehind_getsEachChange_butAllRowsIfItIsTooFarBehind() {
    String first = known;
    var told = new ArrayList<JsonObject>();
    for (int i = 1; i <= Changes.KEPT_MAX; i++) {
      world.report("b", new Gpu("b0", i / 16.0, 10 * FakeWorld.GIB));
      told.add(next());
    }
    String behind = first;
    for (JsonObject change : told) {
      assertThat(after(behind)).isEqualTo(change);
      assertThat(changes.after(behind, last, nowMs)).isSameAs(changes.after(behind, last, nowMs));
      behind = change.getString("resourceVersion");
    }
    world.report("b", new Gpu("b0", 1, 10 * FakeWorld.GIB));
    next();
    assertThat(after(first).getBoolean("complete")).isTrue();
    assertThat(after(told.getFirst().getString("resourceVersion")).getBoolean("complete"))
        .isFalse();
  }

  /** As after a change of the leader. */
  @Test
  void versionOfAnotherReplica_isAnsweredByAllRows() {
    var other = new Changes(reasons, "");
    other.after("", last, nowMs);
    assertThat(other.after(known, last, nowMs)).isEqualTo(other.after("", last, nowMs));
  }

  static LongStream seeds() {
    return LongStream.of(Seeds.of(8));
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void whoFollowsTheChanges_knowsAllRows(long seed) {
    var random = new Random(seed);
    var follower = new Follower(complete());
    for (int step = 0; step < 60; step++) {
      disturb(random);
      follower.apply(next());
      assertThat(withoutTimes(world.inspection()))
          .as("step %d", step)
          .isEqualTo(withoutTimes(inspectedAnew()));
      assertThat(follower.known()).as("step %d", step).isEqualTo(new Follower(complete()).known());
    }
  }

  private Inspection inspectedAnew() {
    return new Inspector(world.ledger, world.loads, world.evaluations)
        .inspect(world.nowMs, Instant.ofEpochMilli(world.nowMs));
  }

  /** A node that stays the same is older than one that is looked at anew. */
  private static List<Inspection.Node> withoutTimes(Inspection all) {
    return all.nodes().stream()
        .map(
            node ->
                new Inspection.Node(
                    node.name(),
                    node.availability(),
                    node.gpus().stream().map(ChangesTest::withoutAge).toList(),
                    node.unplaced(),
                    Instant.EPOCH))
        .toList();
  }

  private static Inspection.Gpu withoutAge(Inspection.Gpu gpu) {
    return new Inspection.Gpu(
        gpu.view(),
        0,
        gpu.holds(),
        gpu.formerReplicas(),
        gpu.reading(),
        gpu.idleSince(),
        gpu.limited());
  }

  /** The clocks of two snapshots differ a little, and nothing is sent for that. */
  @Test
  void podThatDoesNotWork_isIdleAfterAMinute_sinceTheSameTime() {
    var inspector = new Inspector(world.ledger, world.loads, world.evaluations);
    long workedMs = world.nowMs;
    var idle = new HashSet<Instant>();
    for (int i = 1; i < 20; i++) {
      world.nowMs += 5_000;
      world.report("a", new Gpu("a0", 0, FakeWorld.GIB), new Gpu("a1", 0, 0));
      Inspection now = inspector.inspect(world.nowMs, Instant.ofEpochMilli(world.nowMs + i % 2));
      Map<String, Instant> since = now.nodes().getFirst().gpus().getFirst().idleSince();
      assertThat(since.containsKey("held")).isEqualTo(world.nowMs - workedMs >= 60_000);
      idle.addAll(since.values());
    }
    assertThat(idle).hasSize(1);
    world.report("a", new Gpu("a0", 0.5, FakeWorld.GIB), new Gpu("a1", 0, 0));
    assertThat(world.inspection().nodes().getFirst().gpus().getFirst().idleSince()).isEmpty();
  }

  @Test
  void onlyNodesThatChanged_areLookedAtAnew() {
    Inspection before = world.inspection();
    world.nowMs += 1_000;
    world.report("b", new Gpu("b0", 0.5, 10 * FakeWorld.GIB));
    Inspection now = world.inspection();
    assertThat(now.nodes().getFirst()).isSameAs(before.nodes().getFirst());
    assertThat(now.nodes().getLast()).isNotSameAs(before.nodes().getLast());
    Snapshot rows = Snapshot.of(before);
    Snapshot next = Snapshot.of(now, rows);
    assertThat(next.gpus.getFirst()).isSameAs(rows.gpus.getFirst());
    assertThat(next.gpus.getLast()).isNotSameAs(rows.gpus.getLast());
    assertThat(next.pods.getFirst()).isSameAs(rows.pods.getFirst());
  }

  private void disturb(Random random) {
    world.nowMs += random.nextInt(6_000);
    String name = "p" + random.nextInt(5);
    switch (random.nextInt(5)) {
      case 0 -> world.see(FakeWorld.pod(name, 1));
      case 1 -> world.see(FakeWorld.pod(name, 1, "tranche.dev/gpu=a" + random.nextInt(2)).on("a"));
      case 2 -> world.state.apply(new Event.PodGone(name, "ns/" + name));
      case 3 ->
          world.report(
              "a",
              random.nextBoolean()
                  ? new Gpu[] {gpu(random, "a0"), gpu(random, "a1")}
                  : new Gpu[] {gpu(random, "a0")});
      default ->
          world
              .filter()
              .filter(FakeWorld.pod(name, 1 + random.nextInt(9)), List.of("a", "b"), true);
    }
  }

  private static Gpu gpu(Random random, String uuid) {
    return new Gpu(uuid, random.nextInt(3) / 4.0, random.nextInt(3) * FakeWorld.GIB);
  }

  /** What a page does with what it is told. */
  private static final class Follower {
    private final Map<String, Map<String, Object>> gpus = new TreeMap<>();
    private final Map<String, Map<String, Object>> pods = new TreeMap<>();
    private JsonObject summary = new JsonObject();

    Follower(JsonObject whole) {
      apply(whole);
    }

    List<Object> known() {
      return List.of(gpus, pods, summary);
    }

    void apply(JsonObject change) {
      merge(gpus, change, "gpus", "node", "uuid");
      merge(pods, change, "pods", "namespace", "name");
      summary = change.getJsonObject("summary", summary);
    }

    private static void merge(
        Map<String, Map<String, Object>> rows,
        JsonObject change,
        String field,
        String first,
        String second) {
      rows.keySet().removeAll(change.getJsonArray(field + "Removed", new JsonArray()).getList());
      for (Object each : change.getJsonArray(field, new JsonArray())) {
        var row = (JsonObject) each;
        String key = row.getString(first) + "/" + row.getString(second);
        Map<String, Object> known = rows.computeIfAbsent(key, added -> new TreeMap<>());
        known.putAll(row.getMap());
        known.values().removeIf(Objects::isNull);
      }
    }
  }
}
