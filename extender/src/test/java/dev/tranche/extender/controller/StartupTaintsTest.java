package dev.tranche.extender.controller;

import static org.assertj.core.api.Assertions.assertThat;

import dev.tranche.api.Names;
import dev.tranche.api.node.Health;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.stream.FakeNode;
import dev.tranche.extender.watch.Kinds;
import dev.tranche.extender.watch.NodeReader;
import dev.tranche.extender.watch.WatchedNode;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class StartupTaintsTest {
  private static final String NODE = "node-1";
  private static final String OTHER = "example.com/other";
  private static final NodeReport READY =
      FakeNode.node(NODE, FakeNode.gpu("GPU-0", 0, 0, 0)).build();

  private final List<String> patches = new ArrayList<>();
  private final ControllerRig rig = new ControllerRig();
  private final StartupTaints taints = new StartupTaints(rig.context);

  @BeforeEach
  void patches() {
    rig.patched =
        (node, patch) -> {
          patches.add(patch);
          return rig.answer;
        };
  }

  /** The kubelet offers ten replicas. */
  private void watched(String... keys) {
    offering("10", keys);
  }

  private void offering(String replicas, String... keys) {
    var node = new NodeBuilder().withNewMetadata().withName(NODE).endMetadata();
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
    taints.nodeSeen(shown);
  }

  private double lifts(String outcome) {
    return rig.world
        .registry
        .get("tranche.extender.startup.taint.lifts")
        .tag("outcome", outcome)
        .counter()
        .count();
  }

  private double taintedNodes() {
    return rig.world.registry.get("tranche.extender.startup.tainted.nodes").gauge().value();
  }

  @Test
  void servingNode_losesTheStartupTaints_andNoOthers() {
    watched(OTHER, Names.STARTUP_TAINT, "b", Names.STARTUP_TAINT_CLUSTER_AUTOSCALER);
    assertThat(taintedNodes()).isOne();
    taints.reported(NODE, READY);
    assertThat(patches)
        .containsExactly(
            "[{\"op\":\"test\",\"path\":\"/spec/taints/3/key\",\"value\":\""
                + Names.STARTUP_TAINT_CLUSTER_AUTOSCALER
                + "\"},{\"op\":\"remove\",\"path\":\"/spec/taints/3\"},"
                + "{\"op\":\"test\",\"path\":\"/spec/taints/1/key\",\"value\":\""
                + Names.STARTUP_TAINT
                + "\"},{\"op\":\"remove\",\"path\":\"/spec/taints/1\"}]");
    assertThat(lifts("lifted")).isOne();
    assertThat(taintedNodes()).isZero();
    taints.reported(NODE, READY);
    assertThat(patches).hasSize(1);
  }

  @Test
  void nodeThatDoesNotServe_keepsIt() {
    watched(Names.STARTUP_TAINT);
    taints.reported(NODE, READY.toBuilder().setRegistered(false).build());
    taints.reported(NODE, READY.toBuilder().setDraining(true).build());
    taints.reported(NODE, READY.toBuilder().clearGpus().build());
    taints.reported(
        NODE,
        FakeNode.node(NODE, FakeNode.gpu("GPU-0", 0, 0, 0).setHealth(Health.HEALTH_UNHEALTHY))
            .build());
    assertThat(patches).isEmpty();
  }

  @Test
  void kubeletThatDoesNotOfferYet_isWaitedFor() {
    offering("0", Names.STARTUP_TAINT);
    taints.reported(NODE, READY);
    assertThat(patches).isEmpty();
    rig.world.nowMs = StartupTaints.FRESH_MS;
    watched(Names.STARTUP_TAINT);
    assertThat(patches).hasSize(1);
  }

  @Test
  void reportFromBeforeASilence_isNoGround() {
    offering("0", Names.STARTUP_TAINT);
    taints.reported(NODE, READY);
    rig.world.nowMs = StartupTaints.FRESH_MS + 1;
    watched(Names.STARTUP_TAINT);
    assertThat(patches).isEmpty();
  }

  @Test
  void nodeThatReportsTheSameAgain_stillServes() {
    offering("0", Names.STARTUP_TAINT);
    taints.reported(NODE, READY);
    rig.world.nowMs = StartupTaints.FRESH_MS + 1;
    taints.reportedAgain(NODE);
    watched(Names.STARTUP_TAINT);
    assertThat(patches).hasSize(1);
  }

  @Test
  void nodeThatReportsTheSameAgain_isTriedAgain() {
    rig.deciding = false;
    watched(Names.STARTUP_TAINT);
    taints.reported(NODE, READY);
    rig.deciding = true;
    taints.reportedAgain(NODE);
    assertThat(patches).hasSize(1);
  }

  @Test
  void pluginThatDrainsAgain_isNotTakenAtItsEarlierWord() {
    offering("0", Names.STARTUP_TAINT);
    taints.reported(NODE, READY);
    taints.reported(NODE, READY.toBuilder().setDraining(true).build());
    watched(Names.STARTUP_TAINT);
    assertThat(patches).isEmpty();
  }

  @Test
  void nodeWithoutTheTaint_isLeftAlone() {
    watched(OTHER);
    taints.reported(NODE, READY);
    assertThat(patches).isEmpty();
    assertThat(taintedNodes()).isZero();
  }

  @Test
  void refusedPatch_isTriedAgainAtTheNextReport_fromTheListAsItIsThen() {
    rig.answer = Future.failedFuture("the test does not hold");
    watched(OTHER, Names.STARTUP_TAINT);
    taints.reported(NODE, READY);
    assertThat(lifts("failed")).isOne();
    watched(Names.STARTUP_TAINT);
    assertThat(patches).hasSize(2);
    rig.answer = Future.succeededFuture();
    taints.reported(NODE, READY);
    assertThat(patches).hasSize(3);
    assertThat(patches.getLast()).contains("/spec/taints/0").doesNotContain("taints/1");
    assertThat(lifts("lifted")).isOne();
  }

  @Test
  void patchUnderWay_isNotSentTwice() {
    Promise<Void> slow = Promise.promise();
    rig.answer = slow.future();
    watched(Names.STARTUP_TAINT);
    taints.reported(NODE, READY);
    taints.reported(NODE, READY);
    assertThat(patches).hasSize(1);
    slow.complete();
    assertThat(lifts("lifted")).isOne();
  }

  @Test
  void extenderThatDoesNotDecide_writesNothing() {
    rig.deciding = false;
    watched(Names.STARTUP_TAINT);
    taints.reported(NODE, READY);
    assertThat(patches).isEmpty();
  }
}
