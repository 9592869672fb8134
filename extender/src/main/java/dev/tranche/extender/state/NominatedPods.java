package dev.tranche.extender.state;

import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import java.util.Comparator;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Pods that kube-scheduler has nominated and not bound yet, and how far each one's plan is: see
 * {@link NominationPlanner}. Bounded; confined to the loop.
 */
public final class NominatedPods {
  static final int PODS_MAX = 1_000;

  private final Ledger ledger;
  private final LongSupplier clockMs;

  /** By uid, those first that were seen first. */
  private final Map<String, Nominee> nominees = new LinkedHashMap<>();

  public NominatedPods(Ledger ledger, LongSupplier clockMs) {
    this.ledger = ledger;
    this.clockMs = clockMs;
  }

  /** What a plan was made from; the same again need not be tried. */
  record Tried(long ledgerVersion, long loadVersion, boolean budgetsRead) {}

  static final class Nominee {
    final String node;
    final long sinceMs;

    /** Its plan is not ours to make, or not any more. */
    boolean settled;

    @Nullable Tried tried;

    /** When the round began that it last had its turn in; 0: none yet. */
    long turnMs;

    Nominee(String node, long sinceMs, boolean settled) {
      this.node = node;
      this.sinceMs = sinceMs;
      this.settled = settled;
    }
  }

  /** Nominated pods that are not bound yet. */
  public int size() {
    return nominees.size();
  }

  /** After the Ledger has been told of the pod, or of its end. */
  void seen(String uid) {
    String node =
        ledger
            .pod(uid)
            .filter(pod -> pod.node() == null && !pod.ended())
            .map(pod -> pod.standing().nominatedNode())
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

  /** Victims were chosen here. */
  void planned(String uid) {
    Nominee nominee = nominees.get(uid);
    if (nominee != null) {
      nominee.settled = true;
    }
  }

  /**
   * @param nominee whose plan is still to be made
   */
  record Unplanned(PodFacts pod, Nominee nominee) {}

  /** Those first that had no turn for the longest time; among equals, by priority. */
  List<Unplanned> unplanned() {
    return nominees.entrySet().stream()
        .filter(entry -> !entry.getValue().settled)
        .flatMap(
            entry ->
                ledger.pod(entry.getKey()).stream()
                    .map(pod -> new Unplanned(pod, entry.getValue())))
        .sorted(
            Comparator.<Unplanned>comparingLong(each -> each.nominee().turnMs)
                .thenComparingInt(each -> -each.pod().standing().priority()))
        .toList();
  }
}
