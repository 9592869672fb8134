package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.ContainerAssignment;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;

/**
 * An assignment that the kubelet's read-back has not confirmed yet.
 *
 * @param order rises with each receipt
 * @param answered containers whose Allocate has been answered
 * @param firstListed number of the first List that showed the pod; 0: none yet
 * @param refused an Allocate of this pod was refused; the kubelet does not ask for it again
 * @param heldBefore by container, what a pod of the same name held at receipt: a predecessor that
 *     the API server has forgotten already
 * @param succeedsUntilMs until then the kubelet may have, or still get, an earlier pod of the same
 *     name, so what a List shows under the name need not be this pod's; 0: there is none
 */
record PendingAssignment(
    Assignment assignment,
    long order,
    long expiresAtMs,
    Set<String> answered,
    long firstListed,
    boolean refused,
    Map<String, Set<String>> heldBefore,
    long succeedsUntilMs) {
  PendingAssignment {
    answered = Set.copyOf(answered);
    heldBefore = Map.copyOf(heldBefore);
  }

  static PendingAssignment received(
      Assignment assignment,
      long order,
      long nowMs,
      Map<String, Set<String>> heldBefore,
      long succeedsUntilMs) {
    long expiresAtMs = nowMs + Integer.toUnsignedLong(assignment.getExpiresInMs());
    return new PendingAssignment(
        assignment, order, expiresAtMs, Set.of(), 0, false, heldBefore, succeedsUntilMs);
  }

  /** Resent by the extender: what has happened so far stays, unless it is another decision. */
  PendingAssignment renewed(Assignment again, UnaryOperator<Assignment> counted, long nowMs) {
    long expires = nowMs + Integer.toUnsignedLong(again.getExpiresInMs());
    boolean same = again.getContainersList().equals(assignment.getContainersList());
    // What the sender does not say stays as at the first receipt: the config may be another now.
    Assignment now =
        same && again.getReplicasPerGpu() == 0
            ? again.toBuilder().setReplicasPerGpu(assignment.getReplicasPerGpu()).build()
            : counted.apply(again);
    return new PendingAssignment(
        now,
        order,
        expires,
        same ? answered : Set.of(),
        firstListed,
        refused && same,
        heldBefore,
        succeedsUntilMs);
  }

  PendingAssignment listed(long list) {
    return firstListed != 0
        ? this
        : new PendingAssignment(
            assignment, order, expiresAtMs, answered, list, refused, heldBefore, succeedsUntilMs);
  }

  boolean succeeds() {
    return succeedsUntilMs != 0;
  }

  /** The kubelet has heard by now that the predecessor is gone. */
  PendingAssignment withoutPredecessor() {
    return new PendingAssignment(
        assignment, order, expiresAtMs, answered, firstListed, refused, heldBefore, 0);
  }

  /** The predecessor holds nothing any more, so whatever is held from now on is this pod's. */
  PendingAssignment withoutNamesake() {
    return heldBefore.isEmpty()
        ? this
        : new PendingAssignment(
            assignment,
            order,
            expiresAtMs,
            answered,
            firstListed,
            refused,
            Map.of(),
            succeedsUntilMs);
  }

  PendingAssignment answered(String container) {
    Set<String> more = new HashSet<>(answered);
    more.add(container);
    return new PendingAssignment(
        assignment, order, expiresAtMs, more, firstListed, refused, heldBefore, succeedsUntilMs);
  }

  PendingAssignment carriedOut() {
    PendingAssignment pod = this;
    for (ContainerAssignment container : assignment.getContainersList()) {
      pod = pod.answered(container.getContainer());
    }
    return pod;
  }

  PendingAssignment asRefused() {
    return new PendingAssignment(
        assignment, order, expiresAtMs, answered, firstListed, true, heldBefore, succeedsUntilMs);
  }

  PendingAssignment expiringAt(long ms) {
    return new PendingAssignment(
        assignment, order, ms, answered, firstListed, refused, heldBefore, succeedsUntilMs);
  }

  /** Whether a List shows that this container, and not a predecessor's, has devices. */
  boolean holds(PodList list, ContainerAssignment container) {
    String name = container.getContainer();
    return list.holds(assignment, container)
        && (answered.contains(name)
            || (!succeeds() && !list.held(assignment, container).equals(heldBefore.get(name))));
  }

  static String name(Assignment assignment) {
    return assignment.getNamespace() + "/" + assignment.getPod();
  }

  static int size(ContainerAssignment container) {
    return container.getSharesList().stream().mapToInt(share -> share.getReplicas()).sum();
  }
}
