package dev.tranche.extender.ledger;

import java.util.List;

/** An action that follows from an event; the caller of the Ledger carries it out. */
public sealed interface Decision {
  String node();

  /** Send the node's plugin the assignment of these GPUs to the pod. */
  record Assign(String node, Assignment assignment) implements Decision {}

  /** Retract an assignment: the node's plugin need no longer wait for the pod. */
  record Retract(String node, String uid) implements Decision {}

  /** A GPU of the node has more free capacity than before. */
  record CapacityGrew(String node) implements Decision {}

  /** The kubelet gave a pod other GPUs than it was assigned. */
  record Drifted(String node, String key, List<String> assigned, List<String> actual)
      implements Decision {}

  /**
   * Read the pod from the API server and report the answer as {@link Event.PodChecked}. Its binding
   * may have been accepted, though no watch has shown that.
   */
  record CheckPod(String node, String uid, String key) implements Decision {}

  /** The node is offered no pods for so long, since it does not acknowledge assignments. */
  record BackedOff(String node, long forMs) implements Decision {}

  /** An exception that is a bug has ended what was to be done for this node. */
  record Failed(String node, Throwable bug) implements Decision {}

  /** A tentative hold was never bound. */
  record Expired(String node, String key) implements Decision {}
}
