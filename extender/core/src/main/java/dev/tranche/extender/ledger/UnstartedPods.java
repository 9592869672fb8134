package dev.tranche.extender.ledger;

import java.util.List;
import java.util.function.LongUnaryOperator;

/**
 * Lets go of pods that were deleted before their kubelet accepted them. A finalizer may keep such a
 * pod for good, and no kubelet starts it: a mirror that no file makes, or a pod of a kubelet that
 * was down. Once its grace period is over and the kubelet has made a list without it, it holds
 * nothing, and nothing is kept of it. If a later list has it after all, it counts again.
 */
record UnstartedPods(
    LedgerState ledgerState, TerminatingPods terminatingPods, LongUnaryOperator toClock) {

  /** Returns whether the pod was let go of, as it is now. */
  boolean letGo(Transition step, PodFacts pod) {
    String node = pod.node();
    NodeEntry entry = node == null ? null : ledgerState.nodes.get(node);
    if (node != null && pod.deletedUnstarted()) {
      entry = ledgerState.entry(node);
      entry.unstarted(pod, toClock.applyAsLong(pod.preemption().deletionAtMs()));
    } else if (entry != null) {
      entry.started(pod.uid());
    }
    if (entry == null || !entry.neverStarts(pod.uid())) {
      return false;
    }
    letGo(step, entry, pod.uid());
    return true;
  }

  /** Applies the list of a node's last report. */
  void reported(Transition step, NodeEntry entry) {
    List<String> never = entry.unstartedPods().stream().filter(entry::neverStarts).toList();
    never.forEach(uid -> letGo(step, entry, uid));
  }

  private void letGo(Transition step, NodeEntry entry, String uid) {
    entry.started(uid);
    terminatingPods.remove(uid);
    ledgerState.pods.remove(uid);
    ledgerState.giveUp(step, entry, uid);
  }
}
