package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.NodeEvent;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.limit.NodeRate;
import dev.tranche.extender.metrics.ExtenderMetrics;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Future;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class NodeEventWriterTest {
  private final List<Event> created = new ArrayList<>();
  private final List<String> ofNodes = new ArrayList<>();
  private Future<?> answer = Future.succeededFuture();
  private boolean podShown = true;
  private long nowMs;
  private final NodeEventWriter events =
      new NodeEventWriter(
          event -> {
            created.add(event);
            return answer;
          },
          () -> true,
          (node, key) ->
              podShown && key.equals("ns/train") ? Optional.of("uid-1") : Optional.empty(),
          rate(),
          (node, event) -> ofNodes.add(node + " " + event.getReason()));

  private NodeRate rate() {
    return new NodeRate(
        "events",
        NodeEventWriter.RATE,
        () -> nowMs,
        new ExtenderMetrics(new SimpleMeterRegistry()));
  }

  private static NodeReport report(long atMs, String pod) {
    var event =
        NodeEvent.newBuilder().setId(3).setAtMs(atMs).setReason("GpuUnhealthy").setMessage("gpu 0");
    event.setWarning(true).setPod(pod).setNamespace(pod.isEmpty() ? "" : "ns");
    return NodeReport.newBuilder()
        .setPluginInstance("run-1")
        .setSentAtMs(10_000_000)
        .addEvents(event)
        .build();
  }

  @Test
  void ofTheNode_isWrittenOnce_underANameThatOthersWouldGive() {
    events.reported("node-1", report(10_000_000, ""));
    events.reported("node-1", report(10_000_000, ""));
    assertThat(created).hasSize(1);
    assertThat(ofNodes).containsExactly("node-1 GpuUnhealthy");
    Event event = created.getFirst();
    assertThat(event.getMetadata().getNamespace()).isEqualTo("default");
    assertThat(event.getInvolvedObject().getKind()).isEqualTo("Node");
    assertThat(event.getInvolvedObject().getUid()).isEqualTo("node-1");
    assertThat(event.getType()).isEqualTo("Warning");
    var elsewhere = new ArrayList<Event>();
    new NodeEventWriter(
            e -> {
              elsewhere.add(e);
              return Future.succeededFuture();
            },
            () -> true,
            (node, key) -> Optional.empty(),
            rate(),
            (node, ofNode) -> {})
        .reported("node-1", report(10_000_000, ""));
    assertThat(elsewhere.getFirst().getMetadata().getName())
        .isEqualTo(event.getMetadata().getName());
  }

  @Test
  void ofAPod_isWritten_onlyIfThePodIsThere() {
    events.reported("node-1", report(10_000_000, "other"));
    assertThat(created).isEmpty();
    NodeReport train =
        NodeReport.newBuilder(report(10_000_000, "train")).setPluginInstance("run-2").build();
    events.reported("node-1", train);
    assertThat(ofNodes).isEmpty();
    assertThat(created.getFirst().getInvolvedObject().getUid()).isEqualTo("uid-1");
    assertThat(created.getFirst().getMetadata().getNamespace()).isEqualTo("ns");
  }

  @Test
  void ofAPodThatIsNotShownYet_isWrittenWithALaterReport() {
    podShown = false;
    events.reported("node-1", report(10_000_000, "train"));
    assertThat(created).isEmpty();
    podShown = true;
    events.reported("node-1", report(10_000_000, "train"));
    events.reported("node-1", report(10_000_000, "train"));
    assertThat(created).hasSize(1);
  }

  @Test
  void whatANodeSends_isCutToItsBounds() {
    var flood = NodeReport.newBuilder(report(10_000_000, "")).clearEvents();
    for (int id = 1; id <= NodeEventWriter.EVENTS_MAX + 9; id++) {
      flood.addEvents(
          NodeEvent.newBuilder()
              .setId(id)
              .setAtMs(10_000_000)
              .setReason("R".repeat(100))
              .setMessage(id + "m".repeat(2_000)));
    }
    events.reported("node-1", flood.build());
    assertThat(created).hasSize(NodeEventWriter.EVENTS_MAX);
    assertThat(created.getFirst().getMessage()).startsWith("10m").hasSize(1_000);
    assertThat(created.getFirst().getReason()).hasSize(64);
  }

  /** Each event has another id, as from a node that wants to fill etcd. */
  @Test
  void floodOfOneNode_isWrittenAtItsRate_andDelaysNoOtherNode() {
    int sent = 0;
    for (int second = 0; second < 600; second++) {
      nowMs = second * 1_000L;
      for (int report = 0; report < 4; report++) {
        events.reported("flood", floodOf(sent, 64));
        sent += 64;
      }
    }
    assertThat(created).hasSize(64 + 59);
    events.reported("node-1", report(10_000_000, ""));
    assertThat(created.getLast().getInvolvedObject().getName()).isEqualTo("node-1");
  }

  /** What was put off is written while the node repeats it. */
  @Test
  void eventThatWasPutOff_isWrittenWithALaterReport() {
    events.reported("node-1", floodOf(0, 64));
    events.reported("node-1", floodOf(100, 1));
    assertThat(created).hasSize(64);
    nowMs += 10_000;
    events.reported("node-1", floodOf(100, 1));
    events.reported("node-1", floodOf(100, 1));
    assertThat(created).hasSize(65);
  }

  private static NodeReport floodOf(int firstId, int count) {
    var flood = NodeReport.newBuilder().setPluginInstance("run-1").setSentAtMs(10_000_000);
    for (int id = firstId; id < firstId + count; id++) {
      flood.addEvents(
          NodeEvent.newBuilder().setId(id).setAtMs(10_000_000).setReason("R").setMessage("m"));
    }
    return flood.build();
  }

  @Test
  void oldEvents_areNotWrittenAgain() {
    events.reported("node-1", report(10_000_000 - NodeEventWriter.AGE_MAX.toMillis(), ""));
    assertThat(created).isEmpty();
  }

  @Test
  void failure_isTriedWithTheNextReport_aConflictIsNot() {
    answer = Future.failedFuture(new KubernetesClientException("busy", 503, null));
    events.reported("node-1", report(10_000_000, ""));
    answer = Future.failedFuture(new KubernetesClientException("there", 409, null));
    events.reported("node-1", report(10_000_000, ""));
    events.reported("node-1", report(10_000_000, ""));
    assertThat(created).hasSize(2);
  }
}
