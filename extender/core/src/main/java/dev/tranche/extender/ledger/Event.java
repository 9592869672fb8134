package dev.tranche.extender.ledger;

import dev.tranche.extender.placement.Placement;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * An input of the Ledger. Events may come in any order, late or twice; the result must be the same.
 */
public sealed interface Event {
  /** A watch shows the pod. It will also show the pod's end. */
  record PodSeen(PodFacts pod) implements Event {}

  /** The pod's object is gone. */
  record PodGone(String uid, String key) implements Event {}

  record NodeSeen(NodeFacts node) implements Event {}

  record NodeGone(String name) implements Event {}

  /**
   * @param holdingsAgeMs the age of the kubelet's list that the holdings are from; empty if the
   *     node does not report it
   */
  record Reported(String node, NodeState state, OptionalLong holdingsAgeMs) implements Event {}

  record StreamLost(String node) implements Event {}

  /** Hold these GPUs for the pod tentatively; replaces its earlier tentative hold. */
  record Reserve(PodFacts pod, String node, Placement placement) implements Event {}

  /** Give up the pod's tentative hold; a nominated pod keeps it for a limited time. */
  record Release(String uid) implements Event {}

  /**
   * Other pods are about to be evicted for this one: hold GPUs for it on one of these nodes.
   *
   * @param places the pod's placement by node
   * @param expected the node that kube-scheduler will probably nominate; among {@code places}
   */
  record Nominate(PodFacts pod, Map<String, Placement> places, String expected) implements Event {}

  record BindStarted(PodFacts pod, String node, Placement placement) implements Event {}

  record BindDone(String uid) implements Event {}

  /** The API server has rejected the binding, or the binding was never sent. */
  record BindFailed(String uid) implements Event {}

  /** The binding was sent, but the API server has not answered. */
  record BindUnknown(String uid) implements Event {}

  /**
   * The API server's answer to {@link Decision.CheckPod}. There is no event for a failed request;
   * the Ledger asks again. No watch may have shown the pod, and then none shows its end.
   *
   * @param pod as the API server has it; null if there is no pod of that uid
   * @param requestedAtMs when the Ledger decided to send the request
   */
  record PodChecked(String uid, String key, @Nullable PodFacts pod, long requestedAtMs)
      implements Event {
    /** A bound pod that bind has read. */
    public static PodChecked forBind(PodFacts pod) {
      return new PodChecked(pod.uid(), pod.key(), pod, Long.MIN_VALUE);
    }

    /** A pod that bind has not found. */
    public static PodChecked goneForBind(String uid, String key) {
      return new PodChecked(uid, key, null, Long.MIN_VALUE);
    }
  }

  /** The node has acknowledged an assignment. */
  record Acknowledged(String node) implements Event {}

  /** The node has not acknowledged an assignment in time, or its stream was lost meanwhile. */
  record Unacknowledged(String node, long sentAtMs) implements Event {}

  /** The informers have listed all pods and nodes: what is not known now does not exist. */
  record Synced() implements Event {}

  record Tick() implements Event {}
}
