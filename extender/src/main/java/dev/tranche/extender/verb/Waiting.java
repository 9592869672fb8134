package dev.tranche.extender.verb;

import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.score.Policy;
import io.vertx.core.Future;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Pods that filter has rejected, and the nodes whose room has grown since. kube-scheduler tries a
 * rejected pod again when something in the cluster changes, but a load that eases changes nothing
 * there, so once a pod would fit on a node that refused it, that node is named for a patch.
 */
public final class Waiting {
  static final int PODS_MAX = 1_000;
  static final long BETWEEN_MS = 1_000;

  /** Fits tried per turn; the rest waits for the next one. */
  static final int TRIES_MAX = 5_000;

  private final Fleet fleet;
  private final ExtenderMetrics metrics;
  private final Map<String, Rejected> pods = new LinkedHashMap<>();
  private final Set<String> changed = new LinkedHashSet<>();
  private long lastMs = Long.MIN_VALUE / 2;
  private @Nullable Patch underWay;

  /** As of the last turn; metrics are read on another thread. */
  private volatile long fragmented;

  /** The node that is being patched, and the pods that this wakes. */
  private record Patch(String node, List<Rejected> wakes, Future<?> done) {}

  /**
   * @param nodes that refused it, sorted
   * @param fragmented one of them has replicas enough, but no GPU with room
   */
  private record Rejected(PodFacts pod, List<String> nodes, boolean fragmented) {
    boolean refusedBy(String node) {
      return Collections.binarySearch(nodes, node) >= 0;
    }
  }

  public Waiting(Fleet fleet, ExtenderMetrics metrics) {
    this.fleet = fleet;
    this.metrics = metrics;
  }

  void rejected(PodFacts pod, List<Evaluation> evaluations) {
    pods.remove(pod.uid());
    if (pods.size() >= PODS_MAX) {
      Iterator<String> oldest = pods.keySet().iterator();
      oldest.next();
      oldest.remove();
      metrics.waitingEvicted();
    }
    List<String> nodes = evaluations.stream().map(Evaluation::node).sorted().toList();
    boolean fragmented = evaluations.stream().anyMatch(Waiting::fragmented);
    pods.put(pod.uid(), new Rejected(pod, nodes, fragmented));
  }

  private static boolean fragmented(Evaluation evaluation) {
    return evaluation
        .outcome()
        .refusal()
        .filter(reason -> reason == Reason.FRAGMENTED || reason == Reason.TOO_FEW_GPUS)
        .isPresent();
  }

  /** Pods that wait for a hole: an autoscaler sees enough replicas and adds no node. */
  public long fragmented() {
    return fragmented;
  }

  public void forget(String uid) {
    pods.remove(uid);
  }

  /** A pod could fit on the node that did not before. */
  public void changed(String node) {
    if (!pods.isEmpty()) {
      changed.add(node);
    }
  }

  public int size() {
    return pods.size();
  }

  /**
   * Patches a node that a rejected pod would fit on now: at most one a second, one at a time. The
   * pods wait until it is done, so that one that failed is tried again.
   */
  void wake(Function<PodFacts, Policy> policyOf, long nowMs, Function<String, Future<?>> patch) {
    fragmented = pods.values().stream().filter(Rejected::fragmented).count();
    if (!settled() || changed.isEmpty() || nowMs - lastMs < BETWEEN_MS) {
      return;
    }
    int tries = 0;
    for (Iterator<String> nodes = changed.iterator(); nodes.hasNext() && tries < TRIES_MAX; ) {
      String node = nodes.next();
      nodes.remove();
      tries += pods.size();
      // Any node's change wakes all rejected pods, so those that fit here need no second call.
      List<Rejected> wakes =
          pods.values().stream()
              .filter(p -> p.refusedBy(node) && fits(p.pod(), node, policyOf, nowMs))
              .toList();
      if (!wakes.isEmpty()) {
        lastMs = nowMs;
        underWay = new Patch(node, wakes, patch.apply(node));
        return;
      }
    }
  }

  /** Looks after the last patch; whether there is none under way now. */
  private boolean settled() {
    Patch patch = underWay;
    if (patch == null) {
      return true;
    }
    if (!patch.done().isComplete()) {
      return false;
    }
    underWay = null;
    if (patch.done().failed()) {
      changed.add(patch.node());
    } else {
      patch.wakes().forEach(this::woken);
    }
    return true;
  }

  /** Unless it was rejected once more in the meantime. */
  @SuppressWarnings("ReferenceEquality")
  private void woken(Rejected rejected) {
    String uid = rejected.pod().uid();
    if (pods.get(uid) == rejected) {
      pods.remove(uid);
    }
  }

  private boolean fits(PodFacts pod, String node, Function<PodFacts, Policy> policyOf, long nowMs) {
    return fleet
        .evaluate(pod, node, policyOf.apply(pod), hold -> true, nowMs)
        .placement()
        .isPresent();
  }
}
