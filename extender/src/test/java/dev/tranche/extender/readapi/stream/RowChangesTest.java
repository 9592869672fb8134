package dev.tranche.extender.readapi.stream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.explain.Inspection;
import dev.tranche.extender.explain.Inspector;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.readapi.OpenApi;
import dev.tranche.extender.readapi.row.Snapshot;
import dev.tranche.extender.readapi.row.WaitingReasons;
import dev.tranche.extender.readapi.stream.RowChanges.Change;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.FakeWorld;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import dev.tranche.process.fuzz.Seeds;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Who reads a snapshot and then what changes knows what another snapshot would say. */
final class RowChangesTest {
  private final FakeWorld world = new FakeWorld(Policy.LOAD);
  private final WaitingReasons reasons = new WaitingReasons(world.explanations);
  private final RowChanges changes = new RowChanges(reasons, "");

  private Snapshot last = Snapshot.of(world.inspection());

  @BeforeEach
  void fill() {
    world.report("a", new Gpu("a0", 0.25, FakeWorld.GIB), new Gpu("a1", 0, 0));
    world.report("b", new Gpu("b0", 0.9, 10 * FakeWorld.GIB));
    world.state.apply(new Event.PodSeen(FakeWorld.pod("held", 3, "tranche.dev/gpu=a0").on("a")));
    next();
  }

  /** Of rows that are taken over from the snapshot before, as the stream has them. */
  private Change next() {
    last = Snapshot.of(world.inspection(), last);
    return changes.next(last);
  }

  private JsonObject changed() {
    Change change = next();
    assertThat(change).isInstanceOf(Change.Some.class);
    return ((Change.Some) change).json().toJsonObject();
  }

  @Test
  void picture_isWhatTheListsSay_andIsDescribed() {
    JsonObject whole = changes.snapshotJson().toJsonObject();
    OpenApi.assertIs("StreamSnapshot", whole.encode());
    assertThat(whole.getJsonArray("gpus")).hasSize(3);
    assertThat(whole.getJsonArray("pods")).hasSize(1);
    assertThat(whole.getJsonObject("summary").containsKey("nodes")).isFalse();
  }

  @Test
  void nothingHasChanged_whileTimeAlonePasses() {
    world.nowMs += 1_000;
    assertThat(next()).isInstanceOf(Change.None.class);
  }

  /** The second's own figures alone: an object of a row is sent whole. */
  @Test
  void newReading_isToldOfItsGpuAlone_andOnlyWhatIsOther() {
    world.nowMs += 1_000;
    world.report("b", new Gpu("b0", 0.5, 10 * FakeWorld.GIB));
    JsonObject change = changed();
    OpenApi.assertIs("StreamChange", change.encode());
    assertThat(change.fieldNames()).containsExactlyInAnyOrder("time", "gpus", "summary");
    assertThat(change.getJsonArray("gpus")).hasSize(1);
    JsonObject row = change.getJsonArray("gpus").getJsonObject(0);
    assertThat(row.fieldNames())
        .containsExactlyInAnyOrder("node", "index", "uuid", "measured", "effective");
    assertThat(row.getJsonObject("measured").getString("sm")).isEqualTo("500m");
  }

  @Test
  void fieldThatIsGone_isNull() {
    world.state.apply(new Event.PodSeen(FakeWorld.pod("waiting", 3)));
    next();
    world.state.apply(new Event.PodSeen(FakeWorld.pod("waiting", 3, "tranche.dev/gpu=a1").on("a")));
    JsonObject pod = changed().getJsonArray("pods").getJsonObject(0);
    assertThat(pod.getString("name")).isEqualTo("waiting");
    assertThat(pod.containsKey("waiting")).isTrue();
    assertThat(pod.getValue("waiting")).isNull();
  }

  @Test
  void rowsThatAreGone_areNamed() {
    world.state.apply(new Event.PodGone("held", "ns/held"));
    world.report("a", new Gpu("a0", 0.25, FakeWorld.GIB));
    JsonObject change = changed();
    OpenApi.assertIs("StreamChange", change.encode());
    assertThat(change.getJsonArray("gpusRemoved")).containsExactly("a1");
    assertThat(change.getJsonArray("podsRemoved")).containsExactly("ns/held");
  }

  /** Its uuid would not say which of the two is gone. */
  @Test
  void gpuThatMovesToAnotherNode_isToldByAPicture() {
    world.report("b", new Gpu("b0", 0.9, 10 * FakeWorld.GIB), new Gpu("a1", 0, 0));
    next();
    world.report("a", new Gpu("a0", 0.25, FakeWorld.GIB));
    assertThat(next()).isInstanceOf(Change.Reset.class);
  }

  static LongStream seeds() {
    return LongStream.of(Seeds.of(8));
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void whoFollowsTheChanges_knowsWhatAPictureSays(long seed) {
    var random = new Random(seed);
    var follower = new Follower(changes.snapshotJson().toJsonObject());
    for (int step = 0; step < 60; step++) {
      disturb(random);
      switch (next()) {
        case Change.None() -> {}
        case Change.Reset() -> follower.whole(changes.snapshotJson().toJsonObject());
        case Change.Some(var json) -> {
          OpenApi.assertIs("StreamChange", json.toString());
          follower.apply(json.toJsonObject());
        }
      }
      JsonObject whole = changes.snapshotJson().toJsonObject();
      whole.remove("time");
      assertThat(withoutTimes(world.inspection()))
          .as("step %d", step)
          .isEqualTo(withoutTimes(inspectedAnew()));
      assertThat(follower.known()).as("step %d", step).isEqualTo(whole);
    }
  }

  private Inspection inspectedAnew() {
    return new Inspector(world.ledger, world.loads, world.evaluations)
        .inspect(world.waiting.size(), world.nowMs, Instant.ofEpochMilli(world.nowMs));
  }

  /** A node that stays the same is older than one that is looked at anew. */
  private static List<Inspection.Node> withoutTimes(Inspection all) {
    return all.nodes().stream()
        .map(
            node ->
                new Inspection.Node(
                    node.name(),
                    node.availability(),
                    node.gpus().stream().map(RowChangesTest::withoutAge).toList(),
                    node.unplaced(),
                    Instant.EPOCH))
        .toList();
  }

  private static Inspection.Gpu withoutAge(Inspection.Gpu gpu) {
    return new Inspection.Gpu(
        gpu.view(),
        gpu.unattributedReplicas(),
        gpu.smMean(),
        gpu.memoryUsedBytes(),
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
      Inspection now = inspector.inspect(0, world.nowMs, Instant.ofEpochMilli(world.nowMs + i % 2));
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
      case 0 -> world.state.apply(new Event.PodSeen(FakeWorld.pod(name, 1)));
      case 1 ->
          world.state.apply(
              new Event.PodSeen(
                  FakeWorld.pod(name, 1, "tranche.dev/gpu=a" + random.nextInt(2)).on("a")));
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
    private JsonObject known;

    Follower(JsonObject whole) {
      this.known = whole;
      known();
    }

    void whole(JsonObject whole) {
      known = whole;
    }

    JsonObject known() {
      known.remove("time");
      known.put("gpus", sorted(known.getJsonArray("gpus"), "node", "index", "uuid"));
      known.put("pods", sorted(known.getJsonArray("pods"), "namespace", "name"));
      return known;
    }

    void apply(JsonObject change) {
      merge("gpus", change, "node", "uuid");
      merge("pods", change, "namespace", "name");
      for (Object uuid : change.getJsonArray("gpusRemoved", new JsonArray())) {
        rows("gpus").removeIf(row -> ((JsonObject) row).getString("uuid").equals(uuid));
      }
      for (Object pod : change.getJsonArray("podsRemoved", new JsonArray())) {
        rows("pods").removeIf(row -> key((JsonObject) row, "namespace", "name").equals(pod));
      }
      if (change.containsKey("summary")) {
        known.put("summary", change.getJsonObject("summary"));
      }
    }

    @SuppressWarnings("unchecked")
    private List<Object> rows(String field) {
      return known.getJsonArray(field).getList();
    }

    private void merge(String field, JsonObject change, String... names) {
      for (Object each : change.getJsonArray(field, new JsonArray())) {
        var told = (JsonObject) each;
        JsonObject row = null;
        for (Object other : known.getJsonArray(field)) {
          if (key((JsonObject) other, names).equals(key(told, names))) {
            row = (JsonObject) other;
          }
        }
        if (row == null) {
          known.getJsonArray(field).add(told);
          continue;
        }
        JsonObject into = row;
        told.fieldNames()
            .forEach(
                name -> {
                  if (told.getValue(name) == null) {
                    into.remove(name);
                  } else {
                    into.put(name, told.getValue(name));
                  }
                });
      }
    }

    private static String key(JsonObject row, String... names) {
      return String.join("/", List.of(names).stream().map(n -> "" + row.getValue(n)).toList());
    }

    private static JsonArray sorted(JsonArray rows, String... names) {
      return new JsonArray(
          new ArrayList<>(
              rows.stream()
                  .map(row -> (JsonObject) row)
                  .sorted(java.util.Comparator.comparing(row -> key(row, names)))
                  .toList()));
    }
  }
}
