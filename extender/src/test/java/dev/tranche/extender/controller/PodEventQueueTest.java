package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.extender.metrics.ExtenderMetrics;
import io.fabric8.kubernetes.api.model.Event;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Future;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class PodEventQueueTest {
  private final List<Event> created = new ArrayList<>();
  private final PodEventQueue queue =
      new PodEventQueue(
          "Reason",
          event -> {
            created.add(event);
            return Future.succeededFuture();
          },
          new ExtenderMetrics(new SimpleMeterRegistry()),
          "test.events",
          "For a test.");

  private List<String> namespaces() {
    return created.stream().map(event -> event.getMetadata().getNamespace()).toList();
  }

  @Test
  void namespaceThatFillsAllPlaces_doesNotKeepAnotherWaiting() {
    for (int i = 0; i < PodEventQueue.KNOWN_MAX; i++) {
      queue.add("flood/p" + i, "flood-" + i, "message");
    }
    queue.add("small/p", "small", "message");
    queue.tick();
    assertThat(created).hasSize(PodEventQueue.PER_TICK_MAX);
    assertThat(namespaces()).contains("small", "flood");
    assertThat(queue.knows("small")).isTrue();
    assertThat(queue.pods()).isEqualTo(PodEventQueue.KNOWN_MAX);
  }

  @Test
  void namespacesHaveTurns_andEachPodHasOneEvent() {
    for (int i = 0; i < 20; i++) {
      queue.add("a/p" + i, "a-" + i, "message");
    }
    queue.add("b/p", "b", "message");
    queue.add("b/p", "b", "again");
    queue.remove("a-19");
    for (int i = 0; i < 5; i++) {
      queue.tick();
    }
    assertThat(namespaces().subList(0, 2)).containsExactlyInAnyOrder("a", "b");
    assertThat(created).hasSize(20);
  }
}
