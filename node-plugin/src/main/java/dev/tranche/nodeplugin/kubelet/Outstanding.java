package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.ContainerAssignment;
import java.util.HashSet;
import java.util.Set;

/**
 * An assignment that the kubelet's read-back has not confirmed yet.
 *
 * @param order rises with each receipt
 * @param answered containers whose Allocate has been answered
 * @param firstListed number of the first List that showed the pod; 0: none yet
 * @param namesake when it was received, an earlier pod of its name still held devices: what Lists
 *     show under that name is not this pod's before one has shown it without
 * @param refused an Allocate of this pod was refused; the kubelet does not ask for it again
 */
record Outstanding(
    Assignment assignment,
    long order,
    long expiresAtMs,
    Set<String> answered,
    long firstListed,
    boolean namesake,
    boolean refused) {
  Outstanding {
    answered = Set.copyOf(answered);
  }

  static Outstanding received(Assignment assignment, long order, boolean namesake, long nowMs) {
    long expiresAtMs = nowMs + Integer.toUnsignedLong(assignment.getExpiresInMs());
    return new Outstanding(assignment, order, expiresAtMs, Set.of(), 0, namesake, false);
  }

  /** Resent by the extender: what has happened so far stays, unless it is another decision. */
  Outstanding renewed(Assignment again, long nowMs) {
    long expires = nowMs + Integer.toUnsignedLong(again.getExpiresInMs());
    boolean same = again.getContainersList().equals(assignment.getContainersList());
    return new Outstanding(
        again, order, expires, same ? answered : Set.of(), firstListed, namesake, refused && same);
  }

  Outstanding listed(long list) {
    return firstListed != 0
        ? this
        : new Outstanding(assignment, order, expiresAtMs, answered, list, namesake, refused);
  }

  /** The earlier pod of the name holds nothing any more. */
  Outstanding alone() {
    return new Outstanding(assignment, order, expiresAtMs, answered, firstListed, false, refused);
  }

  Outstanding answered(String container) {
    Set<String> more = new HashSet<>(answered);
    more.add(container);
    return new Outstanding(assignment, order, expiresAtMs, more, firstListed, namesake, refused);
  }

  Outstanding asRefused() {
    return new Outstanding(assignment, order, expiresAtMs, answered, firstListed, namesake, true);
  }

  static int size(ContainerAssignment container) {
    return container.getSharesList().stream().mapToInt(share -> share.getReplicas()).sum();
  }
}
