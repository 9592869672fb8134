package dev.tranche.extender.ledger;

import dev.tranche.extender.placement.Placement;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** What the Ledger is told. Any order, late or twice: it must come out the same. */
public sealed interface Event {
  record PodSeen(PodFacts pod) implements Event {}

  /** The pod's object is gone. */
  record PodGone(String uid, String key) implements Event {}

  record NodeSeen(NodeFacts node) implements Event {}

  record NodeGone(String name) implements Event {}

  /**
   * @param holdingsAgeMs how long ago the kubelet was asked for the list that the holdings are of;
   *     empty: the node does not say
   */
  record Reported(String node, NodeState state, OptionalLong holdingsAgeMs) implements Event {}

  record StreamLost(String node) implements Event {}

  /** Expect this pod there; replaces what was expected of it. */
  record Reserve(PodFacts pod, String node, Placement placement) implements Event {}

  /** Expect nothing of this pod any more. */
  record Release(String uid) implements Event {}

  /**
   * Pods are about to be evicted for this one: expect it on one of these nodes.
   *
   * @param places by node
   * @param expected the node that kube-scheduler will probably nominate; among {@code places}
   */
  record Nominate(PodFacts pod, Map<String, Placement> places, String expected) implements Event {}

  record BindStarted(PodFacts pod, String node, Placement placement) implements Event {}

  record BindDone(String uid) implements Event {}

  /** The API server refused, or was never asked. */
  record BindFailed(String uid) implements Event {}

  /** The API server was asked and has not answered. */
  record BindUnknown(String uid) implements Event {}

  /**
   * What the API server has answered to {@link Decision.CheckPod}. A question that failed is not
   * told: it is asked again.
   *
   * @param pod as it is; null: there is no pod of that uid
   * @param askedAtMs when the question was sent
   */
  record PodChecked(String uid, String key, @Nullable PodFacts pod, long askedAtMs)
      implements Event {}

  /** The informers have shown every pod and node once: one that is not known is not there. */
  record Synced() implements Event {}

  record Tick() implements Event {}
}
