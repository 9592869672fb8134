package dev.tranche.extender.ledger;

import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The pods that the Ledger knows. Pods that wait, have ended, or are bound to a node that nobody
 * knows are bounded: beyond that, a further one is not kept. kube-scheduler sends a waiting pod
 * again with each call, so it is still placed. A pod that holds a GPU is always kept. Whoever names
 * a node in a pod's spec can put any number of pods on it while its kubelet is dead, so pods on one
 * node are bounded, too. Once the kubelet accepts one of the others, its list shows it.
 */
final class KeptPods {
  static final int WAITING_MAX = 20_000;

  /** Pods on one node. No kubelet runs as many, and each costs work whenever the node changes. */
  static final int ON_NODE_MAX = 1_024;

  private final Map<String, PodFacts> pods = new HashMap<>();

  /** Pods that are on no node yet. */
  private int pending;

  private final Predicate<String> knownNode;

  /** The pods of which {@link #WAITING_MAX} are kept, by uid. Most of them wait. */
  private final Set<String> waiting = new HashSet<>();

  /** Read on another thread. */
  private final AtomicLong dropped = new AtomicLong();

  /**
   * @param knownNode whether there is a node of that name
   */
  KeptPods(Predicate<String> knownNode) {
    this.knownNode = knownNode;
  }

  @Nullable PodFacts get(String uid) {
    return pods.get(uid);
  }

  Collection<PodFacts> values() {
    return pods.values();
  }

  /**
   * Keeps a pod as it is now, and returns whether there is room for it.
   *
   * @param holds whether it holds a GPU, or one is held for it
   */
  boolean put(PodFacts pod, boolean holds) {
    boolean waits = holdsNothing(pod);
    if (waits && !holds && waiting.size() >= WAITING_MAX && !waiting.contains(pod.uid())) {
      dropped.incrementAndGet();
      return false;
    }
    @Nullable PodFacts before = pods.put(pod.uid(), pod);
    count(pod, 1);
    if (before != null) {
      count(before, -1);
    }
    if (waits) {
      waiting.add(pod.uid());
    } else {
      waiting.remove(pod.uid());
    }
    return true;
  }

  /** Looks at pods again whose node has become known. */
  void nodeKnown(Collection<String> uids) {
    for (String uid : uids) {
      PodFacts pod = pods.get(uid);
      if (pod != null && !holdsNothing(pod)) {
        waiting.remove(uid);
      }
    }
  }

  @Nullable PodFacts remove(String uid) {
    PodFacts before = pods.remove(uid);
    if (before != null) {
      count(before, -1);
      waiting.remove(uid);
    }
    return before;
  }

  /**
   * @param change 1 if the pod is kept from now on, -1 if it is no longer
   */
  private void count(PodFacts pod, int change) {
    pending += pod.isPending() ? change : 0;
  }

  /** Returns whether a pod is on no node yet. */
  boolean anyPending() {
    return pending > 0;
  }

  long dropped() {
    return dropped.get();
  }

  /** Only kube-scheduler nominates a pod, and what it nominates is planned for. */
  private boolean holdsNothing(PodFacts pod) {
    return pod.ended()
        || (pod.node() == null
            ? pod.preemption().nominatedNode() == null
            : !knownNode.test(pod.node()));
  }
}
