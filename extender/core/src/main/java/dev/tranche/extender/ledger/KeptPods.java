package dev.tranche.extender.ledger;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The pods that the Ledger knows. Pods that wait, have ended, or are bound to a node that nobody
 * knows are bounded in number and in bytes: beyond that, the newest one of the namespace with the
 * most bytes is dropped. kube-scheduler sends a waiting pod again with each call, so it is still
 * placed. A pod that holds a GPU is never dropped.
 */
final class KeptPods {
  static final int WAITING_MAX = 20_000;
  static final int WAITING_BYTES_MAX = 24 << 20;

  /** What the Ledger keeps of an ended pod beside it. */
  private static final int ENDED_BYTES = 400;

  /** A hold, and the entry of a node that may have no other pod. */
  private static final int UNKNOWN_NODE_BYTES = 2_000;

  private final Map<String, PodFacts> pods = new HashMap<>();
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
    this.knownNode = knownNode;
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
   * Keeps a pod as it is now.
   *
   * @param holds whether a pod holds a GPU, or one is held for it
   * @return the pods that were dropped for it, perhaps the pod itself
   */
  List<PodFacts> put(PodFacts pod, Predicate<String> holds) {
    pods.put(pod.uid(), pod);
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
      stopsWaiting(before);
    }
    return before;
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

  private int bytes(PodFacts pod) {
    boolean alone = pod.node() != null && !knownNode.test(pod.node());
    return pod.bytes() + (pod.ended() ? ENDED_BYTES : 0) + (alone ? UNKNOWN_NODE_BYTES : 0);
  }

  private void startsWaiting(PodFacts pod) {
    Waiting of = waiting.computeIfAbsent(pod.namespace(), first -> new Waiting());
    int bytes = bytes(pod);
    Integer before = of.bytesByUid.put(pod.uid(), bytes);
    int more = bytes - (before == null ? 0 : before);
    waitingCount += before == null ? 1 : 0;
    of.bytes += more;
    waitingBytes += more;
  }

  private void stopsWaiting(PodFacts pod) {
    Waiting of = waiting.get(pod.namespace());
    Integer bytes = of == null ? null : of.bytesByUid.remove(pod.uid());
    if (of == null || bytes == null) {
      return;
    }
    of.bytes -= bytes;
    waitingBytes -= bytes;
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
