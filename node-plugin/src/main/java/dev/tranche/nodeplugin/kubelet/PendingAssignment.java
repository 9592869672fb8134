package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.ContainerAssignment;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.UnaryOperator;

/**
 * An assignment that the kubelet's read-back has not confirmed yet.
 *
 * @param order increases with each receipt
 * @param answered containers whose Allocate has been answered
 * @param firstListed number of the first List that showed the pod; 0 if none has
 * @param refused whether an Allocate of this pod was refused; the kubelet does not retry it
 * @param heldBefore device ids by container that a pod of the same name held at receipt; the API
 *     server has already deleted that predecessor
 * @param predecessorUntilMs until then the kubelet may have, or still get, an earlier pod of the
 *     same name, which a List may show instead; 0 if there is none
 */
record PendingAssignment(
    Assignment assignment,
    long order,
    long expiresAtMs,
    Set<String> answered,
    long firstListed,
    boolean refused,
    Map<String, Set<String>> heldBefore,
    long predecessorUntilMs) {
  PendingAssignment {
    answered = Set.copyOf(answered);
    heldBefore = Map.copyOf(heldBefore);
  }

  static PendingAssignment received(
      Assignment assignment,
      long order,
      long nowMs,
      Map<String, Set<String>> heldBefore,
      long predecessorUntilMs) {
    long expiresAtMs = nowMs + Integer.toUnsignedLong(assignment.getExpiresInMs());
    return new PendingAssignment(
        assignment, order, expiresAtMs, Set.of(), 0, false, heldBefore, predecessorUntilMs);
  }

  /**
   * Applies an assignment that the extender has sent again. Keeps the progress so far, unless the
   * decision has changed.
   */
  PendingAssignment renewed(
      Assignment again, UnaryOperator<Assignment> withReplicasPerGpu, long nowMs) {
    long expires = nowMs + Integer.toUnsignedLong(again.getExpiresInMs());
    boolean same = shares(again).equals(shares(assignment));
    // An R that the sender omits stays as at the first receipt: the config may have changed since.
    Assignment now =
        same && again.getReplicasPerGpu() == 0
            ? again.toBuilder().setReplicasPerGpu(assignment.getReplicasPerGpu()).build()
            : withReplicasPerGpu.apply(again);
    return new PendingAssignment(
        now,
        order,
        expires,
        same ? answered : Set.of(),
        firstListed,
        refused && same,
        heldBefore,
        predecessorUntilMs);
  }

  private static List<ContainerAssignment> shares(Assignment assignment) {
    return assignment.getContainersList().stream()
        .map(container -> container.toBuilder().clearMemoryLimit().build())
        .toList();
  }

  PendingAssignment listed(long listNumber) {
    return firstListed != 0
        ? this
        : new PendingAssignment(
            assignment,
            order,
            expiresAtMs,
            answered,
            listNumber,
            refused,
            heldBefore,
            predecessorUntilMs);
  }

  boolean hasPredecessor() {
    return predecessorUntilMs != 0;
  }

  /** Returns a copy for when the kubelet knows that the predecessor is gone. */
  PendingAssignment withPredecessorGone() {
    return new PendingAssignment(
        assignment, order, expiresAtMs, answered, firstListed, refused, heldBefore, 0);
  }

  /**
   * Returns a copy for when the predecessor holds nothing any more, so all that is held from now on
   * is this pod's.
   */
  PendingAssignment withoutHeldBefore() {
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
            predecessorUntilMs);
  }

  PendingAssignment answered(String container) {
    Set<String> more = new HashSet<>(answered);
    more.add(container);
    return new PendingAssignment(
        assignment, order, expiresAtMs, more, firstListed, refused, heldBefore, predecessorUntilMs);
  }

  PendingAssignment asFullyAllocated() {
    PendingAssignment pod = this;
    for (ContainerAssignment container : assignment.getContainersList()) {
      pod = pod.answered(container.getContainer());
    }
    return pod;
  }

  PendingAssignment asRefused() {
    return new PendingAssignment(
        assignment,
        order,
        expiresAtMs,
        answered,
        firstListed,
        true,
        heldBefore,
        predecessorUntilMs);
  }

  PendingAssignment expiringAt(long ms) {
    return new PendingAssignment(
        assignment, order, ms, answered, firstListed, refused, heldBefore, predecessorUntilMs);
  }

  /** Returns whether a List shows that this container, and not a predecessor's, has devices. */
  boolean holds(PodList list, ContainerAssignment container) {
    String name = container.getContainer();
    return list.holds(assignment, container)
        && (answered.contains(name)
            || (!hasPredecessor()
                && !list.held(assignment, container).equals(heldBefore.get(name))));
  }

  /**
   * Returns what the pod says about the memory limit of a container, in bytes. For a container that
   * the assignment does not name, returns what holds for all that it names.
   */
  OptionalLong memoryLimit(String container) {
    List<OptionalLong> limits =
        assignment.getContainersList().stream()
            .filter(of -> container.isEmpty() || of.getContainer().equals(container))
            .map(PendingAssignment::memoryLimit)
            .distinct()
            .toList();
    return limits.size() == 1 ? limits.getFirst() : OptionalLong.empty();
  }

  static OptionalLong memoryLimit(ContainerAssignment container) {
    return container.hasMemoryLimit()
        ? OptionalLong.of(container.getMemoryLimit().getBytes())
        : OptionalLong.empty();
  }

  static String name(Assignment assignment) {
    return assignment.getNamespace() + "/" + assignment.getPod();
  }

  static int size(ContainerAssignment container) {
    return container.getSharesList().stream().mapToInt(share -> share.getReplicas()).sum();
  }
}
