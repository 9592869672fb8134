package dev.tranche.extender.verb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import io.vertx.core.json.JsonObject;
import java.util.List;
import org.junit.jupiter.api.Test;

final class ExplainTest {
  private final FakeWorld world = new FakeWorld(Policy.LOAD);

  @Test
  void boundByAnotherReplica_isReconstructed() {
    world.report("a", new Gpu("a0", 0.2, 0), new Gpu("a1", 0.1, 0));
    world.core.told(new Event.PodSeen(FakeWorld.pod("p", 3, "tranche.dev/gpu=a0").on("a")));
    JsonObject explained = Explain.of(world.core, "ns/p").orElseThrow();
    assertThat(explained.getString("state")).isEqualTo("bound");
    assertThat(explained.getString("note")).contains("the pod's annotation");
    assertThat(explained.getJsonObject("chosen").getJsonArray("chosenGpus"))
        .hasSize(1)
        .allMatch(gpu -> ((JsonObject) gpu).getString("uuid").equals("a0"));
  }

  @Test
  void waitingPodOfAnotherReplica_isJudgedNow() {
    world.report("a", new Gpu("a0", 0.2, 0));
    world.core.told(new Event.PodSeen(FakeWorld.pod("p", 3)));
    JsonObject explained = Explain.of(world.core, "ns/p").orElseThrow();
    assertThat(explained.getString("state")).isEqualTo("waiting");
    assertThat(explained.getJsonArray("fitted")).hasSize(1);
  }

  @Test
  void rejectedPod_isExplainedGpuByGpu() {
    world.report("a", new Gpu("a0", 0.2, 10 * FakeWorld.GIB));
    new Filter(world.core, new Asked(), 0).filter(FakeWorld.pod("p", 3), List.of("a"), false);
    JsonObject explained = Explain.of(world.core, "ns/p").orElseThrow();
    assertThat(explained.getJsonArray("refused").getJsonObject(0).getString("reason"))
        .contains("too little real free memory");
    assertThat(explained.encode()).contains("gpu 0: 10 of 10 replicas free, needs 3");
  }

  @Test
  void unknownPod_isNone() {
    assertThat(Explain.of(world.core, "ns/p")).isEmpty();
  }
}
