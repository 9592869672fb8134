package dev.tranche.extender.stream;

import dev.tranche.api.node.ContainerAssignment;
import dev.tranche.api.node.GpuShare;
import dev.tranche.api.node.MemoryLimit;
import dev.tranche.api.node.NodeDirective;
import dev.tranche.extender.ledger.Assignment;
import dev.tranche.extender.placement.Placement;
import java.time.Duration;
import java.util.TreeMap;

/** Encodes decisions as directives of the stream. */
final class Directives {
  /**
   * How long a node keeps an assignment. The extender retracts those that are over, so this applies
   * only if no extender is left. A kubelet that is down for less still finds its assignments.
   */
  private static final int EXPIRES_IN_MS = (int) Duration.ofHours(1).toMillis();

  private Directives() {}

  static NodeDirective.Builder assign(Assignment assignment) {
    int slash = assignment.key().indexOf('/');
    var message =
        dev.tranche.api.node.Assignment.newBuilder()
            .setPodUid(assignment.uid())
            .setNamespace(assignment.key().substring(0, slash))
            .setPod(assignment.key().substring(slash + 1))
            .setResource(assignment.resource())
            .setExpiresInMs(EXPIRES_IN_MS)
            .setReplicasPerGpu(assignment.replicasPerGpu());
    for (Placement.Container container : assignment.placement().containers()) {
      var named = ContainerAssignment.newBuilder().setContainer(container.name());
      for (Placement.Share share : container.shares()) {
        named.addShares(GpuShare.newBuilder().setUuid(share.uuid()).setReplicas(share.replicas()));
      }
      Long limit = assignment.memoryLimits().get(container.name());
      if (limit != null) {
        named.setMemoryLimit(MemoryLimit.newBuilder().setBytes(limit));
      }
      message.addContainers(named);
    }
    new TreeMap<>(assignment.placement().held())
        .forEach((uuid, n) -> message.addHeld(GpuShare.newBuilder().setUuid(uuid).setReplicas(n)));
    return NodeDirective.newBuilder().addAssign(message);
  }

  static NodeDirective.Builder retract(String uid) {
    return NodeDirective.newBuilder().addRetractPodUids(uid);
  }
}
