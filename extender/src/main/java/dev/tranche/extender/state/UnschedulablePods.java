package dev.tranche.extender.state;

import dev.tranche.api.Demand;
import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.snapshot.NodeFit;
import dev.tranche.extender.snapshot.NodeFitCache;
import io.vertx.core.Future;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Pods that filter has rejected, and the nodes that have more free capacity since. kube-scheduler
 * retries a rejected pod when something in the cluster changes, but falling load changes no object.
 * Once a pod would fit on a node that refused it, that node is patched.
 *
 * <p>Each turn is bounded by time and continues where the last one stopped. It goes node by node in
 * the order of their changes, and on each node through all pods.
 */
public final class UnschedulablePods {
  static final int PODS_MAX = 1_000;
  static final long BETWEEN_MS = 1_000;

  /** The time limit of one turn, which tries at least one pod on one node. */
  static final long WITHIN_MS = 10;

  private final SchedulingCore core;
  private final ExtenderMetrics metrics;
  private final Map<String, Rejected> pods = new LinkedHashMap<>();
  private final Set<String> changed = new LinkedHashSet<>();
  private long lastMs = Long.MIN_VALUE / 2;
  private @Nullable Round round;
  private @Nullable Patch underWay;

  /** As of the last turn; metrics are read on another thread. */
  private volatile long fragmented;

  private volatile int untried;

  /** The node that is being patched, and the pods that this wakes. */
  private record Patch(String node, List<Rejected> wakes, Future<?> done) {}

  /** One changed node, and the pods that are still to be tried on it. */
  private record Round(String node, Iterator<Rejected> pods) {}

  /**
   * What decides whether a pod fits a node. Pods with equal values are tried once.
   *
   * @param holder the pod's uid if it has a hold there, otherwise empty
   */
  private record Trial(
      String resource,
      List<Demand.Request> requests,
      Map<String, String> annotations,
      int priority,
      String holder) {}

  /**
   * @param nodes that refused it, by their {@link NodeFitCache#index}: thousands of names for each
   *     of a thousand pods would be 50 MiB
   * @param unknownToo whether a node refused it that has no index, which may be any node that comes
   * @param fragmented whether one of them has enough free replicas, but not on enough single GPUs
   */
  private record Rejected(PodFacts pod, BitSet nodes, boolean unknownToo, boolean fragmented) {
    boolean refusedBy(int index) {
      return unknownToo || nodes.get(index);
    }
  }

  public UnschedulablePods(SchedulingCore core, ExtenderMetrics metrics) {
    this.core = core;
    this.metrics = metrics;
  }

  /** Records a rejected pod, which waits until it fits on one of these nodes. */
  public void rejected(PodFacts pod, List<NodeFit> refused) {
    forget(pod.uid());
    BitSet nodes = indexes(refused);
    boolean unknownToo = nodes.cardinality() < refused.size();
    boolean isFragmented = refused.stream().anyMatch(UnschedulablePods::fragmented);
    pods.put(pod.uid(), new Rejected(withoutLabels(pod), nodes, unknownToo, isFragmented));
    if (pods.size() > PODS_MAX) {
      forget(pods.keySet().iterator().next());
      metrics.waitingEvicted.increment();
    }
  }

  private BitSet indexes(List<NodeFit> refused) {
    var indexes = new BitSet();
    for (NodeFit evaluation : refused) {
      int index = core.fits.index(evaluation.node());
      if (index >= 0) {
        indexes.set(index);
      }
    }
    return indexes;
  }

  /** Labels may be long, and decide nothing here. */
  private static PodFacts withoutLabels(PodFacts pod) {
    return pod.with(new PreemptionInfo(pod.preemption().priority(), Map.of(), 0, false, null));
  }

  private static boolean fragmented(NodeFit evaluation) {
    return evaluation.refusedFor(Reason.FRAGMENTED) || evaluation.refusedFor(Reason.TOO_FEW_GPUS);
  }

  /**
   * Returns the number of pods that wait because of fragmentation: an autoscaler sees enough
   * replicas and adds no node.
   */
  public long fragmented() {
    return fragmented;
  }

  public void forget(String uid) {
    pods.remove(uid);
  }

  /** Records that a pod may fit on the node that did not fit before. */
  public void changed(String node) {
    if (!pods.isEmpty()) {
      changed.add(node);
    }
  }

  public int size() {
    return pods.size();
  }

  boolean contains(String uid) {
    return pods.containsKey(uid);
  }

  /**
   * Returns the number of nodes that have more free capacity, but on which no rejected pod was
   * tried since.
   */
  public int untriedNodes() {
    return untried;
  }

  /**
   * Patches a node that a rejected pod would fit on now: at most one a second, one at a time. The
   * pods wait until the patch is done, so that a patch that failed is repeated.
   *
   * @param mayPatch false for nodes that have been patched too often lately; they stay changed
   */
  void wake(
      Function<PodFacts, Policy> policyOf,
      Predicate<String> mayPatch,
      Function<String, Future<?>> patch) {
    long nowMs = core.nowMs();
    fragmented = pods.values().stream().filter(this::isFragmented).count();
    if (patchDone() && nowMs - lastMs >= BETWEEN_MS) {
      tryChangedNodes(policyOf, nowMs, mayPatch, patch);
    }
    untried = changed.size();
  }

  /** A pod that kube-scheduler tried after its deletion does not count. */
  private boolean isFragmented(Rejected rejected) {
    return rejected.fragmented() && core.ledger.pod(rejected.pod().uid()).isPresent();
  }

  private void tryChangedNodes(
      Function<PodFacts, Policy> policyOf,
      long nowMs,
      Predicate<String> mayPatch,
      Function<String, Future<?>> patch) {
    boolean late = false;
    while (!late) {
      Round now = round == null ? next(mayPatch) : round;
      if (now == null) {
        return;
      }
      var wakes = new ArrayList<Rejected>();
      var fits = new HashMap<Trial, Boolean>();
      while (!late && now.pods().hasNext()) {
        Rejected rejected = now.pods().next();
        PodFacts pod = rejected.pod();
        if (isRefused(rejected, now.node())
            && fits.computeIfAbsent(
                trial(pod, now.node()), any -> fits(pod, now.node(), policyOf, nowMs))) {
          wakes.add(rejected);
        }
        late = core.nowMs() - nowMs >= WITHIN_MS;
      }
      round = now.pods().hasNext() ? now : null;
      if (!wakes.isEmpty()) {
        // Any node's change wakes all rejected pods, so those that fit here need no second call.
        lastMs = nowMs;
        underWay = new Patch(now.node(), wakes, patch.apply(now.node()));
        return;
      }
    }
  }

  /** Returns the node that changed first among those that may be patched; null if there is none. */
  private @Nullable Round next(Predicate<String> mayPatch) {
    for (Iterator<String> oldest = changed.iterator(); oldest.hasNext(); ) {
      String node = oldest.next();
      if (mayPatch.test(node)) {
        oldest.remove();
        return new Round(node, List.copyOf(pods.values()).iterator());
      }
    }
    return null;
  }

  /** Returns whether the pod still waits, and that node refused it. */
  private boolean isRefused(Rejected rejected, String node) {
    int index = core.fits.index(node);
    return index >= 0 && rejected.refusedBy(index) && contains(rejected.pod().uid());
  }

  private Trial trial(PodFacts pod, String node) {
    boolean holds = core.ledger.hold(pod.uid()).map(Hold::node).filter(node::equals).isPresent();
    return new Trial(
        pod.resource(),
        pod.requests(),
        pod.annotations(),
        pod.preemption().priority(),
        holds ? pod.uid() : "");
  }

  /**
   * Judges as Filter does: a pod's own hold does not count, nor does a nominated pod's hold for a
   * pod of higher priority.
   */
  private boolean fits(PodFacts pod, String node, Function<PodFacts, Policy> policyOf, long nowMs) {
    Policy policy = policyOf.apply(pod);
    return core.evaluator
        .snapshot(pod, node, nowMs)
        .filter(now -> core.evaluator.evaluate(now, pod.gpuRequest(now.replicas()), policy).fits())
        .isPresent();
  }

  /** Handles the end of the last patch; returns whether none is under way now. */
  private boolean patchDone() {
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

  /** Removes a woken pod, unless it was rejected again in the meantime. */
  @SuppressWarnings("ReferenceEquality")
  private void woken(Rejected rejected) {
    String uid = rejected.pod().uid();
    if (pods.get(uid) == rejected) {
      forget(uid);
    }
  }
}
