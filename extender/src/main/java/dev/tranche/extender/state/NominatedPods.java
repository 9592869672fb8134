package dev.tranche.extender.state;

import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.preempt.Budgets;
import dev.tranche.extender.snapshot.Trials;
import java.util.Comparator;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Pods that kube-scheduler has nominated and not bound yet, with the progress of each one's plan:
 * see {@link NominationPlanner}. Bounded; confined to the loop.
 */
public final class NominatedPods {
  static final int PODS_MAX = 1_000;

  private final Ledger ledger;
  private final LongSupplier clockMs;

  /** By uid, in the order in which they were first seen. */
  private final Map<String, Nominee> nominees = new LinkedHashMap<>();

  public NominatedPods(Ledger ledger, LongSupplier clockMs) {
    this.ledger = ledger;
    this.clockMs = clockMs;
  }

  /** The inputs of a planning attempt; with equal inputs it need not be repeated. */
  record Tried(long ledgerVersion, long loadVersion, boolean budgetsRead) {}

  /**
   * A planning attempt, which may take several turns.
   *
   * @param ledgerVersion of the node; when it changes, the attempt begins anew
   */
  record Attempt(long ledgerVersion, Trials trials, Budgets budgets) {}

  static final class Nominee {
    final String node;
    final long sinceMs;

    /** Whether this extender has no plan to make for the pod, or none any more. */
    boolean planDone;

    @Nullable Tried tried;

    @Nullable Attempt attempt;

    /** When the round began in which the pod last had its turn; 0 if it had none yet. */
    long turnMs;

    Nominee(String node, long sinceMs, boolean planDone) {
      this.node = node;
      this.sinceMs = sinceMs;
      this.planDone = planDone;
    }
  }

  /** Nominated pods that are not bound yet. */
  public int size() {
    return nominees.size();
  }

  /** Updates a pod; must be called after the Ledger has applied the pod's event. */
  void update(String uid) {
    String node =
        ledger
            .pod(uid)
            .filter(PodFacts::isPending)
            .map(pod -> pod.preemption().nominatedNode())
            .orElse(null);
    Nominee known = nominees.get(uid);
    if (known != null && known.node.equals(node)) {
      return;
    }
    nominees.remove(uid);
    if (node != null) {
      nominees.put(uid, new Nominee(node, clockMs.getAsLong(), ledger.nominated(uid)));
      forgetTheOldest();
    }
  }

  private void forgetTheOldest() {
    if (nominees.size() > PODS_MAX) {
      Iterator<String> oldest = nominees.keySet().iterator();
      oldest.next();
      oldest.remove();
    }
  }

  /** Records that this extender has chosen victims for the pod. */
  public void planned(String uid) {
    Nominee nominee = nominees.get(uid);
    if (nominee != null) {
      nominee.planDone = true;
    }
  }

  /**
   * @param nominee whose plan is still to be made
   */
  record Unplanned(PodFacts pod, Nominee nominee) {}

  /**
   * Returns the pods without a plan: first those that had no turn for the longest time, then by
   * priority.
   */
  List<Unplanned> unplanned() {
    return nominees.entrySet().stream()
        .filter(entry -> !entry.getValue().planDone)
        .flatMap(
            entry ->
                ledger.pod(entry.getKey()).stream()
                    .map(pod -> new Unplanned(pod, entry.getValue())))
        .sorted(
            Comparator.<Unplanned>comparingLong(each -> each.nominee().turnMs)
                .thenComparingInt(each -> -each.pod().preemption().priority()))
        .toList();
  }
}
