package dev.tranche.extender.verb;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.FakeWorld.Gpu;
import io.vertx.core.Vertx;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class BindTest {
  private final Vertx vertx = Vertx.vertx();
  private final FakeWorld world = new FakeWorld(Policy.LOAD);
  private final Asked asked = new Asked();
  private final Bind bind =
      new Bind(world.core, asked, world, new Loop(vertx.getOrCreateContext()));

  @BeforeEach
  void report() {
    world.report("a", new Gpu("a0", 0, 0));
  }

  @AfterEach
  void stop() {
    vertx.close().await();
  }

  @Test
  void uidOfAnotherPod_isRefused() {
    world.core.told(new Event.PodSeen(FakeWorld.pod("p", 3)));
    assertThat(bind("ns/q", "p")).get().asString().contains("is ns/p");
    assertThat(world.assigned).isEmpty();
  }

  @Test
  void podThatTheInformerHasNotShownYet_isBoundAsTheApiServerHasIt() {
    asked.put(FakeWorld.pod("p", 1));
    world.onServer.put("ns/p", FakeWorld.pod("p", 3));
    assertThat(bind("ns/p", "p")).isEmpty();
    assertThat(world.assigned.getFirst().placement().held().values()).containsExactly(3);
  }

  @Test
  void podThatTheApiServerHasNot_isNotBound() {
    asked.put(FakeWorld.pod("p", 3));
    assertThat(bind("ns/p", "p").orElseThrow()).contains("no pod ns/p of uid p");
    world.onServer.put("ns/p", FakeWorld.pod("q", 3));
    assertThat(bind("ns/p", "p")).isPresent();
    world.onServer.put("ns/p", FakeWorld.pod("p", 3).on("b"));
    assertThat(bind("ns/p", "p").orElseThrow()).contains("is bound to node b");
    assertThat(bind("ns/never", "never").orElseThrow()).contains("was not filtered here");
    assertThat(world.assigned).isEmpty();
  }

  @Test
  void memoryThatHasGoneSinceThePodWasFiltered_movesItToAnotherGpuOrRefusesIt() {
    world.report("a", new Gpu("a0", 0, 0), new Gpu("a1", 0.5, 0));
    var pod = FakeWorld.pod("p", 3);
    world.core.told(new Event.PodSeen(pod));
    var filter = new Filter(world.core, asked, 0);
    filter.filter(pod, List.of("a"), false);
    assertThat(world.core.ledger.hold("p").orElseThrow().held()).containsOnlyKeys("a0");
    long most = 8 * FakeWorld.GIB;
    world.report("a", new Gpu("a0", 0, most), new Gpu("a1", 0.5, most));
    assertThat(bind("ns/p", "p").orElseThrow()).contains("has no room for pod ns/p any more");
    assertThat(world.assigned).isEmpty();
    world.report("a", new Gpu("a0", 0, most), new Gpu("a1", 0.5, 0));
    assertThat(bind("ns/p", "p")).isEmpty();
    assertThat(world.assigned.getFirst().placement().held()).containsOnlyKeys("a1");
  }

  private Optional<String> bind(String key, String uid) {
    return bind.bind(key, uid, "a").await();
  }
}
