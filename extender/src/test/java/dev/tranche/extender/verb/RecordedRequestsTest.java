package dev.tranche.extender.verb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.http.ExtenderReader;
import dev.tranche.extender.http.ExtenderWriter;
import dev.tranche.extender.http.Recorded;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import dev.tranche.extender.verb.Preempt.VictimUids;
import dev.tranche.process.loop.Loop;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every verb decides on what each release of kube-scheduler has sent. */
final class RecordedRequestsTest {
  private static final String RELEASES = "dev.tranche.extender.http.Recorded#releases";
  @AutoClose private final Vertx vertx = Vertx.vertx();
  private final FakeWorld world = new FakeWorld(Policy.LOAD);
  private final ExtenderReader reader = new ExtenderReader(List.of("nvidia.com/gpu"));

  @BeforeEach
  void report() {
    world.budgets.listed();
    world.report("node-a", new Gpu("GPU-a", 0.9, 0));
    world.report("node-b", new Gpu("GPU-b", 0.1, 0));
    world.report("node-c", new Gpu("GPU-c", 0.5, 0));
  }

  @ParameterizedTest
  @MethodSource(RELEASES)
  void filter_offersTheNodesByName(Recorded release) throws Exception {
    var args = reader.args(release.body("filter"));
    List<String> names = Objects.requireNonNull(args.nodeNames());
    Filter.Answer answer =
        world.filter(0).filter(args.pod().orElseThrow(), names, args.hasNodePreferences());
    JsonObject json = ExtenderWriter.filter(answer).toJsonObject();
    assertThat(json.getJsonArray("NodeNames"))
        .containsExactlyInAnyOrder("node-a", "node-b", "node-c");
    assertThat(json.getString("Error")).isEmpty();
  }

  @ParameterizedTest
  @MethodSource(RELEASES)
  void prioritize_scoresThemByLoad(Recorded release) throws Exception {
    var args = reader.args(release.body("prioritize"));
    var scores =
        world
            .prioritize()
            .prioritize(args.pod().orElseThrow(), Objects.requireNonNull(args.nodeNames()));
    JsonArray json = ExtenderWriter.scores(scores).toJsonArray();
    assertThat(json)
        .contains(
            new JsonObject().put("Host", "node-b").put("Score", 9),
            new JsonObject().put("Host", "node-a").put("Score", 4));
  }

  @ParameterizedTest
  @MethodSource(RELEASES)
  void bind_assignsAGpuOfTheNode(Recorded release) throws Exception {
    PodFacts pod = reader.args(release.body("filter")).pod().orElseThrow();
    world.see(pod);
    var binding = reader.binding(release.body("bind"));
    var bind = world.bind(new Loop(vertx.getOrCreateContext()));
    assertThat(bind.bind(binding.key(), binding.podUid(), binding.node()).await()).isEmpty();
    assertThat(world.assigned.getFirst().placement().held())
        .isEqualTo(Map.of(binding.node().replace("node-", "GPU-"), 3));
  }

  @ParameterizedTest
  @MethodSource(RELEASES)
  void preempt_choosesAmongTheOfferedVictims(Recorded release) throws Exception {
    var args = reader.args(release.body("preempt"));
    Map<String, VictimUids> offered = Objects.requireNonNull(args.victims());
    offered.forEach(
        (node, victims) ->
            victims.uids().forEach(uid -> bound(uid, node, 10 / victims.uids().size())));
    var answer =
        (Preempt.Answer.Nodes) world.preempt().preempt(args.pod().orElseThrow(), offered).result();
    assertThat(answer.victims()).containsOnlyKeys("node-a", "node-b", "node-c");
    assertThat(uids(answer.victims())).isEqualTo(uids(offered));
    assertThat(
            ExtenderWriter.victims(answer.victims())
                .toJsonObject()
                .getJsonObject("NodeNameToMetaVictims"))
        .hasSize(3);
  }

  private static Map<String, Set<String>> uids(Map<String, VictimUids> victims) {
    return victims.entrySet().stream()
        .collect(Collectors.toMap(Map.Entry::getKey, e -> Set.copyOf(e.getValue().uids())));
  }

  private void bound(String uid, String node, int replicas) {
    var pod = FakeWorld.pod(uid, replicas, "tranche.dev/gpu=" + node.replace("node-", "GPU-"));
    world.see(pod.with(new PreemptionInfo(0, Map.of(), 1, false, null)).on(node));
  }
}
