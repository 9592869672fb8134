package dev.tranche.nodeplugin.kubelet;

import static java.util.stream.Collectors.joining;

import dev.tranche.api.node.Assignment;
import dev.tranche.api.node.ContainerAssignment;
import dev.tranche.api.node.GpuShare;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;

/**
 * An assignment that the kubelet's read-back has not confirmed yet, and how far the kubelet has
 * come with it. Confined to one thread.
 */
final class PendingAssignment {
  private final long order;
  private final Set<String> answered = new HashSet<>();
  private Assignment assignment;
  private long expiresAtMs;
  private long firstListed;
  private boolean refused;
  private Map<String, Set<String>> heldBefore;
  private long predecessorUntilMs;

  /**
   * @param order increases with each receipt
   * @param heldBefore device ids by container that a pod of the same name held at receipt; the API
   *     server has already deleted that predecessor
   * @param predecessorUntilMs until then the kubelet may have, or still get, an earlier pod of the
   *     same name, which a List may show instead; 0 if there is none
   */
  PendingAssignment(
      Assignment assignment,
      long order,
      long nowMs,
      Map<String, Set<String>> heldBefore,
      long predecessorUntilMs) {
    this.assignment = assignment;
    this.order = order;
    this.expiresAtMs = nowMs + Integer.toUnsignedLong(assignment.getExpiresInMs());
    this.heldBefore = heldBefore;
    this.predecessorUntilMs = predecessorUntilMs;
  }

  /**
   * Takes an assignment that the extender has sent again. Keeps the progress so far, unless the
   * decision has changed.
   */
  void renew(Assignment again, long nowMs) {
    if (!shares(again).equals(shares(assignment))) {
      answered.clear();
      refused = false;
    }
    assignment = again;
    expiresAtMs = nowMs + Integer.toUnsignedLong(again.getExpiresInMs());
  }

  private static List<ContainerAssignment> shares(Assignment assignment) {
    return assignment.getContainersList().stream()
        .map(container -> container.toBuilder().clearMemoryLimit().build())
        .toList();
  }

  Assignment assignment() {
    return assignment;
  }

  /** Returns whether the kubelet may still ask for a container of it. */
  boolean mayAllocate(String resource) {
    return !refused && assignment.getResource().equals(resource);
  }

  /** Returns the containers that have shares. */
  List<ContainerAssignment> containers() {
    return assignment.getContainersList().stream().filter(c -> c.getSharesCount() > 0).toList();
  }

  List<ContainerAssignment> unanswered() {
    return containers().stream().filter(c -> !answered.contains(c.getContainer())).toList();
  }

  String name() {
    return name(assignment);
  }

  long order() {
    return order;
  }

  long expiresAtMs() {
    return expiresAtMs;
  }

  void expireBy(long ms) {
    expiresAtMs = Math.min(expiresAtMs, ms);
  }

  /** Returns the number of the first List that showed the pod; 0 if none has. */
  long firstListed() {
    return firstListed;
  }

  void listed(long listNumber) {
    firstListed = firstListed == 0 ? listNumber : firstListed;
  }

  boolean hasPredecessor() {
    return predecessorUntilMs != 0;
  }

  /** Forgets the predecessor when the kubelet knows by now that it is gone. */
  void expirePredecessor(long nowMs) {
    predecessorUntilMs = predecessorUntilMs <= nowMs ? 0 : predecessorUntilMs;
  }

  /** The predecessor holds nothing any more, so all that is held from now on is this pod's. */
  void forgetHeldBefore() {
    heldBefore = Map.of();
  }

  /** Returns the containers whose Allocate has been answered; empty: an init container. */
  Set<String> answered() {
    return answered;
  }

  /**
   * @param nameAmbiguous whether it may have been another pod of that name
   */
  void answered(String container, boolean nameAmbiguous) {
    answered.add(container);
    if (!nameAmbiguous && !container.isEmpty()) {
      predecessorUntilMs = 0;
    }
  }

  /** Returns whether an Allocate of this pod was refused; the kubelet does not retry it. */
  boolean refused() {
    return refused;
  }

  void refuse() {
    refused = true;
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
  static OptionalLong memoryLimit(Assignment assignment, String container) {
    return memoryLimit(
        assignment.getContainersList().stream()
            .filter(of -> container.isEmpty() || of.getContainer().equals(container))
            .toList());
  }

  /** Returns what is said about the memory limit of all these containers; empty if they differ. */
  static OptionalLong memoryLimit(List<ContainerAssignment> containers) {
    List<OptionalLong> limits =
        containers.stream()
            .map(
                c ->
                    c.hasMemoryLimit()
                        ? OptionalLong.of(c.getMemoryLimit().getBytes())
                        : OptionalLong.empty())
            .distinct()
            .toList();
    return limits.size() == 1 ? limits.getFirst() : OptionalLong.empty();
  }

  static String name(Assignment assignment) {
    return assignment.getNamespace() + "/" + assignment.getPod();
  }

  /** Returns them for people: {@code 2 of GPU-0 and 1 of GPU-1}. */
  static String text(List<GpuShare> shares) {
    return shares.stream()
        .map(share -> share.getReplicas() + " of " + share.getUuid())
        .collect(joining(" and "));
  }

  static int size(ContainerAssignment container) {
    return container.getSharesList().stream().mapToInt(share -> share.getReplicas()).sum();
  }
}
