package dev.tranche.extender.ledger;

import java.util.List;

/** What follows from an event, for others to carry out. */
public sealed interface Decision {
  String node();

  /** Have the node's plugin give the pod these GPUs. */
  record Assign(String node, Assignment assignment) implements Decision {}

  /** The node's plugin need not wait for the pod. */
  record Retract(String node, String uid) implements Decision {}

  /** A GPU of the node can take more than before. */
  record RoomGrew(String node) implements Decision {}

  /** The kubelet gave a pod other GPUs than it was assigned. */
  record Drifted(String node, String key, List<String> assigned, List<String> actual)
      implements Decision {}

  /**
   * Ask the API server for the pod, and say what it answers by {@link Event.PodChecked}: its
   * binding may have been accepted, though no watch has shown that.
   */
  record CheckPod(String node, String uid, String key) implements Decision {}

  /** A tentative hold was never bound. */
  record Expired(String node, String key) implements Decision {}
}
