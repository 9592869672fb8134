package dev.tranche.nodeplugin.events;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.NodeEvent;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import dev.tranche.nodeplugin.usage.PodName;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class EventBufferTest {
  private final NodeMetrics metrics = new NodeMetrics();
  private final AtomicInteger changes = new AtomicInteger();
  private final EventBuffer events =
      new EventBuffer(metrics, () -> 7_000, changes::incrementAndGet);

  @Test
  void newest_areKept_withIdsFromOne() {
    for (int i = 0; i < EventBuffer.KEPT_MAX + 2; i++) {
      events.node("GpuUnhealthy", "GPU " + i, true);
    }
    assertThat(events.newest())
        .hasSize(EventBuffer.KEPT_MAX)
        .first()
        .returns(3L, NodeEvent::getId)
        .returns("GPU 2", NodeEvent::getMessage)
        .returns(7_000L, NodeEvent::getAtMs);
    assertThat(changes).hasValue(EventBuffer.KEPT_MAX + 2);
    assertThat(metrics.scrape()).contains("tranche_node_events_total{reason=\"GpuUnhealthy\"} 66");
  }

  @Test
  void ofAPod_namesIt_andALongMessageIsCut() {
    events.pod(new PodName("ns", "train"), "GpuOveruse", "x".repeat(2_000), false);
    NodeEvent event = events.newest().iterator().next();
    assertThat(event.getNamespace() + "/" + event.getPod()).isEqualTo("ns/train");
    assertThat(event.getMessage()).hasSize(EventBuffer.MESSAGE_CHARS_MAX).endsWith("…");
    assertThat(event.getWarning()).isFalse();
  }
}
