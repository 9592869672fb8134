package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.GrantedGpus;
import dev.tranche.api.Names;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.verb.FakeWorld;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class NodeUseWriterTest {
  private static final NodeUse IDLE = new NodeUse(new GrantedGpus(0, 8, 80, 10, 10), 0, 10, 640);
  private static final NodeUse BUSY = new NodeUse(new GrantedGpus(20, 8, 60, 10, 10), 60, 300, 640);

  private final ControllerRig rig = new ControllerRig();
  private final Map<String, NodeUse> uses = new HashMap<>();
  private final List<String> written = new ArrayList<>();
  private boolean refusing;
  private String unreadable = "";
  private final NodeUseWriter writer =
      new NodeUseWriter(
          rig.context,
          node -> {
            if (node.equals(unreadable)) {
              throw new IllegalStateException("of node " + node);
            }
            return Optional.ofNullable(uses.get(node));
          });

  @BeforeEach
  void patches() {
    rig.patched = this::patched;
  }

  /** Carries a patch out, as the API server would, and shows the Node as it is then. */
  private Future<?> patched(String node, String patch) {
    if (refusing) {
      return Future.failedFuture("409 Conflict");
    }
    var annotations = new JsonObject(patch).getJsonObject("metadata").getJsonObject("annotations");
    @Nullable String text = annotations.getString(Names.GPU_USE);
    written.add(node + ": " + text);
    seen(node, text == null ? "" : text);
    return Future.succeededFuture();
  }

  private void seen(String node, String annotation) {
    rig.seen(writer, ControllerRig.node(node, Map.of(), "", annotation));
  }

  @Test
  void nodeWhoseUseCannotBeRead_keepsNobodyElseFromBeingWritten() {
    uses.put("a", BUSY);
    uses.put("b", BUSY);
    seen("a", "");
    seen("b", "");
    unreadable = "a";
    ticks(120);
    assertThat(written).isNotEmpty().allMatch(text -> text.startsWith("b: "));
    double failures =
        rig.world.registry.get("tranche.extender.failures").tag("part", "node").counter().count();
    assertThat(failures).isPositive();
  }

  private void ticks(int seconds) {
    for (int i = 0; i < seconds; i++) {
      rig.world.nowMs += 1_000;
      writer.tick();
    }
  }

  private void node(String name, NodeUse use) {
    uses.put(name, use);
    seen(name, "");
  }

  @Test
  void newNode_isToldOnce() {
    node("a", IDLE);
    ticks(120);
    assertThat(written)
        .singleElement()
        .asString()
        .startsWith(
            "a: 0.0 of 8 GPUs granted, largest free share 10/10, 80 replicas free, 0% SM load, 10"
                + " of 640 GiB memory used, as of 20");
  }

  @Test
  void useThatChangesAllTheTime_isWrittenOnceAMinute() {
    node("a", IDLE);
    for (int i = 0; i < 600; i++) {
      uses.put("a", i % 2 == 0 ? BUSY : IDLE);
      ticks(1);
    }
    assertThat(written).hasSizeBetween(5, 10);
  }

  @Test
  void useThatStays_isConfirmedOnceAnHour() {
    node("a", IDLE);
    ticks(3 * 3_600 + 10);
    assertThat(written).hasSize(4);
  }

  @Test
  void manyNodes_areWrittenAFewASecond() {
    for (int i = 0; i < 1_000; i++) {
      node("node-" + i, IDLE);
    }
    ticks(1);
    assertThat(written).hasSize(NodeUseWriter.WRITES_PER_SECOND_MAX);
    ticks(9);
    assertThat(written).hasSize(10 * NodeUseWriter.WRITES_PER_SECOND_MAX);
    ticks(190);
    assertThat(written).hasSize(1_000);
    assertThat(written.stream().distinct()).hasSize(1_000);
  }

  /** Each write makes kube-scheduler try them again. */
  @Test
  void whilePodsWait_writesComeTogether() {
    rig.world.see(FakeWorld.pod("p", 3));
    node("a", IDLE);
    ticks(1);
    assertThat(written).hasSize(1);
    uses.put("a", BUSY);
    ticks(290);
    assertThat(written).as("within the five minutes").hasSize(1);
    ticks(20);
    assertThat(written).hasSize(2);
    uses.put("a", IDLE);
    rig.world.state.apply(new Event.PodGone("p", "ns/p"));
    ticks(70);
    assertThat(written).hasSize(3);
  }

  /** The webhook ignores a free share that is ten minutes old. */
  @Test
  void freeShareThatGrantedReplicasDoNotTell_isConfirmedEveryFewMinutes() {
    rig.world.see(FakeWorld.pod("p", 3));
    node("a", new NodeUse(new GrantedGpus(0, 8, 80, 4, 10), 0, 600, 640));
    ticks(3_600);
    assertThat(written).hasSizeBetween(9, 13);
  }

  @Test
  void refusedWrite_isTriedAgain() {
    refusing = true;
    node("a", IDLE);
    ticks(1);
    assertThat(written).isEmpty();
    refusing = false;
    ticks(1);
    assertThat(written).hasSize(1);
  }

  @Test
  void extenderThatMayNotDecide_writesNothing() {
    rig.deciding = false;
    node("a", IDLE);
    ticks(10);
    assertThat(written).isEmpty();
  }

  /** Somebody has removed it. */
  @Test
  void annotationThatIsMissing_isWrittenAgain() {
    node("a", IDLE);
    ticks(1);
    seen("a", "");
    ticks(60);
    assertThat(written).hasSize(2);
  }

  @Test
  void nodeWhoseGpusAreGone_losesIt_andOneWithoutHasNone() {
    rig.advertises("a", false);
    seen("cpu-only", "");
    seen("a", IDLE.text(Instant.EPOCH));
    ticks(299);
    assertThat(written).as("a plugin may only restart").isEmpty();
    ticks(5);
    assertThat(written).containsExactly("a: null");
  }

  @Test
  void nodeThatOffersGpusStill_keepsIt() {
    rig.advertises("a", true);
    seen("a", IDLE.text(Instant.EPOCH));
    ticks(600);
    assertThat(written).isEmpty();
  }

  @Test
  void nodeThatIsGone_isForgotten() {
    node("a", IDLE);
    rig.gone(writer, "a");
    ticks(5);
    assertThat(written).isEmpty();
  }
}
