package dev.tranche.extender.ledger;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The pods that the Ledger knows. Pods that wait, have ended, or are bound to a node that nobody
 * knows are bounded in number and in bytes: beyond that, the newest one of the namespace with the
 * most bytes is dropped. kube-scheduler sends a waiting pod again with each call, so it is still
 * placed. A pod that holds a GPU is never dropped. Whoever names a node in a pod's spec can put any
 * number of pods on it while its kubelet is dead. Those beyond the bounds are not kept, and the
 * Ledger counts their node as taken.
 */
final class KeptPods {
  static final int WAITING_MAX = 20_000;
  static final int WAITING_BYTES_MAX = 24 << 20;

  /** What the Ledger keeps of an ended pod beside it. */
  private static final int ENDED_BYTES = 400;

  /** A hold, and the entry of a node that may have no other pod. */
  private static final int UNKNOWN_NODE_BYTES = 2_000;

  /** Pods on one node. No kubelet runs as many, and each costs work whenever the node changes. */
  static final int ON_NODE_MAX = 1_024;

  /**
   * Pods on one node that are kept even if all pods take too many bytes. By default a kubelet runs
   * 110.
   */
  static final int ON_NODE_FAIR = 128;

  /** Such a pod takes no more than this. */
  static final int FAIR_BYTES = 4 << 10;

  /** All pods together, by an estimate that is twice what most pods take. */
  private static final long BYTES_MAX = Runtime.getRuntime().maxMemory() / 2;

  private final Map<String, PodFacts> pods = new HashMap<>();
  private final long bytesMax;
  private long bytes;

  /** Pods that are on no node yet. */
  private int pending;

  /** How many pods on nodes have a priority. */
  private final TreeMap<Integer, Integer> priorities = new TreeMap<>();

  private final Predicate<String> knownNode;

  /** The pods that may be dropped, by namespace. Most of them wait. */
  private final Map<String, Waiting> waiting = new HashMap<>();

  private int waitingCount;
  private long waitingBytes;

  /** Read on another thread. */
  private final AtomicLong dropped = new AtomicLong();

  /**
   * @param knownNode whether there is a node of that name
   */
  KeptPods(Predicate<String> knownNode) {
    this(knownNode, BYTES_MAX);
  }

  KeptPods(Predicate<String> knownNode, long bytesMax) {
    this.knownNode = knownNode;
    this.bytesMax = bytesMax;
  }

  /** Pods of one namespace, the oldest first, each with its size. */
  private static final class Waiting {
    final LinkedHashMap<String, Integer> bytesByUid = new LinkedHashMap<>();
    long bytes;
  }

  @Nullable PodFacts get(String uid) {
    return pods.get(uid);
  }

  Collection<PodFacts> values() {
    return pods.values();
  }

  /**
   * Returns whether there is room for a pod that is bound to a node.
   *
   * @param onNode the pods that the node has
   * @param holds whether the pod is one of them: it has been placed there
   */
  boolean hasRoom(PodFacts pod, int onNode, boolean holds) {
    @Nullable PodFacts before = pods.get(pod.uid());
    int own = pod.bytes();
    int more = own - (before == null ? 0 : before.bytes());
    boolean fair = own <= FAIR_BYTES && (holds || onNode < ON_NODE_FAIR);
    return (holds || onNode < ON_NODE_MAX) && (fair || more <= 0 || bytes + more <= bytesMax);
  }

  /**
   * Keeps a pod as it is now.
   *
   * @param holds whether a pod holds a GPU, or one is held for it
   * @return the pods that were dropped for it, perhaps the pod itself
   */
  List<PodFacts> put(PodFacts pod, Predicate<String> holds) {
    @Nullable PodFacts before = pods.put(pod.uid(), pod);
    count(pod, 1);
    if (before != null) {
      count(before, -1);
    }
    if (holdsNothing(pod)) {
      // A pod that only changes keeps its place, so that an update makes no pod the newest.
      startsWaiting(pod);
      return drop(holds);
    }
    stopsWaiting(pod);
    return List.of();
  }

  /** Looks at pods again whose node has become known, or has gone. */
  void nodeChanged(Collection<String> uids) {
    for (String uid : uids) {
      PodFacts pod = pods.get(uid);
      if (pod != null && holdsNothing(pod)) {
        startsWaiting(pod);
      } else if (pod != null) {
        stopsWaiting(pod);
      }
    }
  }

  @Nullable PodFacts remove(String uid) {
    PodFacts before = pods.remove(uid);
    if (before != null) {
      count(before, -1);
      stopsWaiting(before);
    }
    return before;
  }

  /**
   * @param change 1 if the pod is kept from now on, -1 if it is no longer
   */
  private void count(PodFacts pod, int change) {
    bytes += (long) change * pod.bytes();
    if (pod.ended()) {
      return;
    }
    if (pod.node() == null) {
      pending += change;
    } else {
      priorities.merge(
          pod.preemption().priority(), change, (n, more) -> n + more == 0 ? null : n + more);
    }
  }

  /** Returns whether a pod is on no node yet. */
  boolean anyPending() {
    return pending > 0;
  }

  /** Returns whether a pod on a node has a lower priority. */
  boolean anyBelow(int priority) {
    return !priorities.isEmpty() && priorities.firstKey() < priority;
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

  private int waitingBytes(PodFacts pod) {
    boolean alone = pod.node() != null && !knownNode.test(pod.node());
    return pod.bytes() + (pod.ended() ? ENDED_BYTES : 0) + (alone ? UNKNOWN_NODE_BYTES : 0);
  }

  private void startsWaiting(PodFacts pod) {
    Waiting of = waiting.computeIfAbsent(pod.namespace(), first -> new Waiting());
    int own = waitingBytes(pod);
    Integer before = of.bytesByUid.put(pod.uid(), own);
    int more = own - (before == null ? 0 : before);
    waitingCount += before == null ? 1 : 0;
    of.bytes += more;
    waitingBytes += more;
  }

  private void stopsWaiting(PodFacts pod) {
    Waiting of = waiting.get(pod.namespace());
    Integer own = of == null ? null : of.bytesByUid.remove(pod.uid());
    if (of == null || own == null) {
      return;
    }
    of.bytes -= own;
    waitingBytes -= own;
    waitingCount--;
    if (of.bytesByUid.isEmpty()) {
      waiting.remove(pod.namespace());
    }
  }

  private List<PodFacts> drop(Predicate<String> holds) {
    if (waitingCount <= WAITING_MAX && waitingBytes <= WAITING_BYTES_MAX) {
      return List.of();
    }
    var all = new ArrayList<PodFacts>(1);
    while (waitingCount > WAITING_MAX || waitingBytes > WAITING_BYTES_MAX) {
      Optional<PodFacts> newest = newestOfTheLargest(holds);
      if (newest.isEmpty()) {
        break;
      }
      remove(newest.get().uid());
      all.add(newest.get());
      dropped.incrementAndGet();
    }
    return all;
  }

  private Optional<PodFacts> newestOfTheLargest(Predicate<String> holds) {
    return waiting.values().stream()
        .max(Comparator.comparingLong(of -> of.bytes))
        .flatMap(
            of ->
                of.bytesByUid.sequencedKeySet().reversed().stream()
                    .filter(uid -> !holds.test(uid))
                    .findFirst())
        .map(pods::get);
  }
}
