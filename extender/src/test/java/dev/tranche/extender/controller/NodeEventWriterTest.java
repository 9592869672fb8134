package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.node.NodeEvent;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.verb.FakeWorld;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.vertx.core.Future;
import java.util.List;
import org.junit.jupiter.api.Test;

class NodeEventWriterTest {
  private final ControllerRig rig = new ControllerRig();
  private final List<Event> created = rig.created;
  private final NodeEventWriter events = events(rig);

  private static NodeEventWriter events(ControllerRig rig) {
    return new NodeEventWriter(rig.context, new ConfigMapEvents(rig.context, "tranche", ""));
  }

  /** The watch shows pod ns/train on its node. */
  private void showPod() {
    rig.advertises("node-1", true);
    rig.world.state.apply(
        new dev.tranche.extender.ledger.Event.PodSeen(FakeWorld.pod("train", 3).on("node-1")));
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
    Event event = created.getFirst();
    assertThat(event.getMetadata().getNamespace()).isEqualTo("default");
    assertThat(event.getInvolvedObject().getKind()).isEqualTo("Node");
    assertThat(event.getInvolvedObject().getUid()).isEqualTo("node-1");
    assertThat(event.getType()).isEqualTo("Warning");
    var elsewhere = new ControllerRig();
    events(elsewhere).reported("node-1", report(10_000_000, ""));
    assertThat(elsewhere.created.getFirst().getMetadata().getName())
        .isEqualTo(event.getMetadata().getName());
  }

  @Test
  void ofAPod_isWritten_onlyIfThePodIsThere() {
    showPod();
    events.reported("node-1", report(10_000_000, "other"));
    assertThat(created).isEmpty();
    NodeReport train =
        NodeReport.newBuilder(report(10_000_000, "train")).setPluginInstance("run-2").build();
    events.reported("node-1", train);
    assertThat(created.getFirst().getInvolvedObject().getUid()).isEqualTo("train");
    assertThat(created.getFirst().getMetadata().getNamespace()).isEqualTo("ns");
  }

  @Test
  void ofAPodThatIsNotShownYet_isWrittenWithALaterReport() {
    events.reported("node-1", report(10_000_000, "train"));
    assertThat(created).isEmpty();
    showPod();
    events.reported("node-1", report(10_000_000, "train"));
    events.reported("node-1", report(10_000_000, "train"));
    assertThat(created).hasSize(1);
  }

  @Test
  void whatANodeSends_isCutToItsBounds() {
    var flood = NodeReport.newBuilder(report(10_000_000, "")).clearEvents();
    flood.addEvents(
        NodeEvent.newBuilder()
            .setId(1)
            .setAtMs(10_000_000)
            .setReason("R".repeat(100))
            .setMessage("m".repeat(2_000)));
    events.reported("node-1", flood.build());
    assertThat(created.getFirst().getMessage()).hasSize(1_000);
    assertThat(created.getFirst().getReason()).hasSize(64);
  }

  /** Each event has another id, as from a node that wants to fill etcd. */
  @Test
  void floodOfOneNode_isWrittenAtItsRate_andDelaysNoOtherNode() {
    int sent = 0;
    for (int second = 0; second < 600; second++) {
      rig.world.nowMs = second * 1_000L;
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
    rig.world.nowMs += 10_000;
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
    rig.answer = Future.failedFuture(new KubernetesClientException("busy", 503, null));
    events.reported("node-1", report(10_000_000, ""));
    rig.answer = Future.failedFuture(new KubernetesClientException("there", 409, null));
    events.reported("node-1", report(10_000_000, ""));
    events.reported("node-1", report(10_000_000, ""));
    assertThat(created).hasSize(2);
  }
}
