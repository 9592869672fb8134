package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.api.node.Health;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.stream.FakeNode;
import dev.tranche.extender.stream.ReportReader;
import dev.tranche.extender.watch.Kinds;
import dev.tranche.extender.watch.NodeReader;
import dev.tranche.extender.watch.WatchedNode;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.List;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;

class StartupTaintsTest {
  private static final String NODE = "node-1";
  private static final String OTHER = "example.com/other";
  private static final NodeReport READY =
      FakeNode.node(NODE, FakeNode.gpu("GPU-0", 0, 0, 0)).build();

  private final ControllerRig rig = new ControllerRig();
  private final List<String> patches = rig.patches;
  private final StartupTaints taints = new StartupTaints(rig.context);
  private int versions;

  /** The kubelet offers ten replicas. */
  private void watched(String... keys) {
    offering("10", keys);
  }

  private void offering(String replicas, String... keys) {
    String version = Integer.toString(++versions);
    var meta = new NodeBuilder().withNewMetadata().withName(NODE).withResourceVersion(version);
    var node = meta.endMetadata();
    var spec = node.withNewSpec();
    for (String key : keys) {
      spec.addNewTaint().withKey(key).withEffect("NoSchedule").endTaint();
    }
    var built =
        spec.endSpec()
            .withNewStatus()
            .addToAllocatable(Names.RESOURCE, new Quantity(replicas))
            .endStatus()
            .build();
    WatchedNode shown = Kinds.read(NodeReader.kind(List.of(Names.RESOURCE)), built);
    rig.seen(taints, shown);
    taints.tick();
  }

  private void reported(NodeReport report) {
    var read = ReportReader.read(NODE, report, rig.world.nowMs, null);
    rig.world.state.reported(read.report(), read.readings());
    taints.tick();
  }

  private double taintedNodes() {
    return rig.world.registry.get("tranche.extender.startup.tainted.nodes").gauge().value();
  }

  @Test
  void servingNode_losesTheStartupTaints_andNoOthers() {
    watched(OTHER, Names.STARTUP_TAINT, "b", Names.STARTUP_TAINT_CLUSTER_AUTOSCALER);
    assertThat(taintedNodes()).isOne();
    reported(READY);
    assertThat(patches)
        .containsExactly(
            "[{\"op\":\"test\",\"path\":\"/spec/taints/3/key\",\"value\":\""
                + Names.STARTUP_TAINT_CLUSTER_AUTOSCALER
                + "\"},{\"op\":\"remove\",\"path\":\"/spec/taints/3\"},"
                + "{\"op\":\"test\",\"path\":\"/spec/taints/1/key\",\"value\":\""
                + Names.STARTUP_TAINT
                + "\"},{\"op\":\"remove\",\"path\":\"/spec/taints/1\"}]");
    taints.tick();
    assertThat(patches).hasSize(1);
    watched(OTHER, "b");
    assertThat(taintedNodes()).isZero();
  }

  @Test
  void nodeThatDoesNotServe_keepsIt() {
    watched(Names.STARTUP_TAINT);
    reported(READY.toBuilder().setRegistered(false).build());
    reported(READY.toBuilder().setDraining(true).build());
    reported(READY.toBuilder().clearGpus().build());
    reported(
        FakeNode.node(NODE, FakeNode.gpu("GPU-0", 0, 0, 0).setHealth(Health.HEALTH_UNHEALTHY))
            .build());
    assertThat(patches).isEmpty();
  }

  @Test
  void kubeletThatDoesNotOfferYet_isWaitedFor() {
    offering("0", Names.STARTUP_TAINT);
    reported(READY);
    assertThat(patches).isEmpty();
    watched(Names.STARTUP_TAINT);
    assertThat(patches).hasSize(1);
  }

  @Test
  void nodeWhoseStreamIsLost_keepsIt() {
    offering("0", Names.STARTUP_TAINT);
    reported(READY);
    rig.world.state.apply(new Event.StreamLost(NODE));
    watched(Names.STARTUP_TAINT);
    assertThat(patches).isEmpty();
  }

  @Test
  void pluginThatDrainsAgain_isNotTakenAtItsEarlierWord() {
    offering("0", Names.STARTUP_TAINT);
    reported(READY);
    reported(READY.toBuilder().setDraining(true).build());
    watched(Names.STARTUP_TAINT);
    assertThat(patches).isEmpty();
  }

  @Test
  void nodeWithoutTheTaint_isLeftAlone() {
    watched(OTHER);
    reported(READY);
    assertThat(patches).isEmpty();
    assertThat(taintedNodes()).isZero();
  }

  @Test
  void refusedPatch_isTriedAgainAtTheNextReport_fromTheListAsItIsThen() {
    rig.answer = Future.failedFuture("the test does not hold");
    watched(OTHER, Names.STARTUP_TAINT);
    reported(READY);
    watched(Names.STARTUP_TAINT);
    assertThat(patches).hasSize(2);
    rig.answer = Future.succeededFuture();
    reported(READY);
    assertThat(patches).hasSize(3);
    assertThat(patches.getLast()).contains("/spec/taints/0").doesNotContain("taints/1");
  }

  @Test
  void patchUnderWay_isNotSentTwice() {
    Promise<Void> slow = Promise.promise();
    rig.answer = slow.future();
    watched(Names.STARTUP_TAINT);
    reported(READY);
    reported(READY);
    watched(OTHER, Names.STARTUP_TAINT);
    assertThat(patches).hasSize(1);
    slow.complete();
  }

  @Test
  void bugOfOneNode_leavesTheOthers() {
    BiFunction<String, String, Future<?>> works = rig.patched;
    rig.patched =
        (node, patch) -> {
          throw new IllegalStateException("a bug");
        };
    watched(Names.STARTUP_TAINT);
    reported(READY);
    assertThat(taintedNodes()).isOne();
    rig.patched = works;
    taints.tick();
    assertThat(patches).hasSize(1);
  }
}
