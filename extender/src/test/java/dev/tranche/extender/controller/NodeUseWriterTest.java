package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.GrantedGpus;
import dev.tranche.api.Names;
import dev.tranche.extender.metrics.ExtenderMetrics;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class NodeUseWriterTest {
  private static final Instant START = Instant.parse("2026-11-23T20:00:00Z");
  private static final NodeUse IDLE = new NodeUse(new GrantedGpus(0, 8, 10, 10), 0, 10, 640);
  private static final NodeUse BUSY = new NodeUse(new GrantedGpus(20, 8, 10, 10), 60, 300, 640);

  private final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  private final Map<String, NodeUse> uses = new HashMap<>();
  private final List<String> written = new ArrayList<>();
  private boolean deciding = true;
  private boolean advertises;
  private boolean podsWait;
  private boolean refusing;
  private String unreadable = "";
  private long nowMs;
  private final ExtenderMetrics metrics = new ExtenderMetrics(registry);
  private final NodeUseWriter writer =
      new NodeUseWriter(
          this::patched,
          () -> deciding,
          node -> advertises,
          () -> podsWait,
          node -> {
            if (node.equals(unreadable)) {
              throw new IllegalStateException("of node " + node);
            }
            return Optional.ofNullable(uses.get(node));
          },
          () -> nowMs,
          () -> START.plusMillis(nowMs),
          metrics,
          metrics.failures());

  /** Carries a patch out, as the API server would, and shows the Node as it is then. */
  private Future<?> patched(String node, String patch) {
    if (refusing) {
      return Future.failedFuture("409 Conflict");
    }
    var annotations = new JsonObject(patch).getJsonObject("metadata").getJsonObject("annotations");
    @Nullable String text = annotations.getString(Names.GPU_USE);
    written.add(node + ": " + text);
    writer.seen(node, "2", text == null ? "" : text);
    return Future.succeededFuture();
  }

  @Test
  void nodeWhoseUseCannotBeRead_keepsNobodyElseFromBeingWritten() {
    uses.put("a", BUSY);
    uses.put("b", BUSY);
    writer.seen("a", "1", "");
    writer.seen("b", "1", "");
    unreadable = "a";
    ticks(120);
    assertThat(written).isNotEmpty().allMatch(text -> text.startsWith("b: "));
    double failures =
        registry.get("tranche.extender.failures").tag("part", "node").counter().count();
    assertThat(failures).isPositive();
  }

  private void ticks(int seconds) {
    for (int i = 0; i < seconds; i++) {
      nowMs += 1_000;
      writer.tick();
    }
  }

  private void node(String name, NodeUse use) {
    uses.put(name, use);
    writer.seen(name, "1", "");
  }

  private double outcome(String outcome) {
    return registry
        .get("tranche.extender.node.use.writes")
        .tag("outcome", outcome)
        .counter()
        .count();
  }

  @Test
  void newNode_isToldOnce() {
    node("a", IDLE);
    ticks(120);
    assertThat(written)
        .containsExactly(
            "a: 0.0 of 8 GPUs granted, largest free share 10/10, 0% SM load, 10 of 640 GiB memory"
                + " used, as of 2026-11-23T20:00:01Z");
    assertThat(outcome("written")).isEqualTo(1);
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

  /** The webhook ignores a free share that is ten minutes old. */
  @Test
  void freeShareThatGrantedReplicasDoNotTell_isConfirmedEveryFewMinutes() {
    podsWait = true;
    node("a", new NodeUse(new GrantedGpus(0, 8, 4, 10), 0, 600, 640));
    ticks(3_600);
    assertThat(written).hasSizeBetween(9, 13);
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
    assertThat(registry.get("tranche.extender.node.use.due").gauge().value()).isPositive();
    ticks(190);
    assertThat(written).hasSize(1_000);
    assertThat(written.stream().distinct()).hasSize(1_000);
  }

  /** Each write makes kube-scheduler try them again. */
  @Test
  void whilePodsWait_writesComeTogether() {
    podsWait = true;
    node("a", IDLE);
    ticks(1);
    assertThat(written).hasSize(1);
    uses.put("a", BUSY);
    ticks(290);
    assertThat(written).as("within the five minutes").hasSize(1);
    ticks(20);
    assertThat(written).hasSize(2);
    uses.put("a", IDLE);
    podsWait = false;
    ticks(70);
    assertThat(written).hasSize(3);
  }

  @Test
  void refusedWrite_isTriedAgain() {
    refusing = true;
    node("a", IDLE);
    ticks(1);
    assertThat(outcome("failed")).isEqualTo(1);
    refusing = false;
    ticks(1);
    assertThat(written).hasSize(1);
  }

  @Test
  void extenderThatMayNotDecide_writesNothing() {
    deciding = false;
    node("a", IDLE);
    ticks(10);
    assertThat(written).isEmpty();
  }

  @Test
  void whatAnotherReplicaWroteOfTheSame_stays() {
    uses.put("a", new NodeUse(new GrantedGpus(0, 8, 10, 10), 4, 20, 640));
    writer.seen("a", "1", IDLE.text(START));
    ticks(120);
    assertThat(written).isEmpty();
  }

  @Test
  void nodeWhoseGpusAreGone_losesIt_andOneWithoutHasNone() {
    writer.seen("cpu-only", "1", "");
    writer.seen("a", "1", IDLE.text(START));
    ticks(299);
    assertThat(written).as("a plugin may only restart").isEmpty();
    ticks(5);
    assertThat(written).containsExactly("a: null");
  }

  @Test
  void nodeThatOffersGpusStill_keepsIt() {
    advertises = true;
    writer.seen("a", "1", IDLE.text(START));
    ticks(600);
    assertThat(written).isEmpty();
  }

  @Test
  void nodeThatIsGone_isForgotten() {
    node("a", IDLE);
    writer.nodeGone("a");
    ticks(5);
    assertThat(written).isEmpty();
  }
}
