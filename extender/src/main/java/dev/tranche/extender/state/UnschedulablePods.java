package dev.tranche.extender.state;

import dev.tranche.api.Demand;
import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.PreemptionInfo;
import dev.tranche.extender.ledger.RequestsByReplicas;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.placement.GpuRequest;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.snapshot.NodeEvaluator;
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
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Pods that filter has rejected, and the nodes that have more free capacity since. kube-scheduler
 * retries a rejected pod when something in the cluster changes, but falling load changes no object.
 * Once a pod would fit on a node that refused it, that node is patched.
 *
 * <p>Each turn is bounded by time and continues where the last one stopped. It goes node by node in
 * the order of their changes, and on each node through all kinds of pods. Pods with equal requests
 * are tried once.
 */
public final class UnschedulablePods {
  static final int PODS_MAX = 1_000;
  static final long BETWEEN_MS = 1_000;

  /**
   * kube-scheduler retries a waiting pod after six minutes at most. One that it has not tried for
   * longer, and that no watch shows, is deleted; nothing else would end its record.
   */
  static final long UNTRIED_MS = 600_000;

  /**
   * Limit of the characters kept of all pods' requests. Admission bounds a pod's lists to a
   * thousandth of that.
   */
  static final int CHARS_MAX = 4 << 20;

  /** The time limit of one turn, which tries at least one kind of pod on one node. */
  static final long WITHIN_MS = 10;

  private final Ledger ledger;
  private final NodeFitCache evaluations;
  private final NodeEvaluator evaluator;
  private final ExtenderMetrics metrics;
  private final Map<String, Rejected> pods = new LinkedHashMap<>();
  private final Map<Shape, Kind> kinds = new LinkedHashMap<>();
  private final Set<String> changed = new LinkedHashSet<>();

  /** Characters kept of the requests of all kinds. */
  private int chars;

  private long lastMs = Long.MIN_VALUE / 2;
  private @Nullable Round round;
  private @Nullable Patch underWay;

  /** As of the last turn; metrics are read on another thread. */
  private volatile long fragmented;

  private volatile int untried;

  /** The node that is being patched, and the pods that this wakes. */
  private record Patch(String node, List<Rejected> wakes, Future<?> done) {}

  /** One changed node, and the kinds of pods that are still to be tried on it. */
  private record Round(String node, Iterator<Kind> kinds) {}

  /** Everything that decides a pod's placement, apart from node and policy. */
  private record Shape(
      String resource, List<Demand.Request> requests, Map<String, String> annotations) {
    static Shape of(PodFacts pod) {
      return new Shape(pod.resource(), pod.requests(), SchedulingAnnotations.of(pod));
    }

    int chars() {
      return Stream.concat(
              requests.stream().map(Demand.Request::container),
              annotations.entrySet().stream().map(e -> e.getKey() + e.getValue()))
          .mapToInt(String::length)
          .sum();
    }

    /** Returns the pod without its other annotations and its labels, which may be long. */
    PodFacts kept(PodFacts pod) {
      int priority = pod.preemption().priority();
      return new PodFacts(
          pod.uid(),
          pod.namespace(),
          pod.name(),
          pod.node(),
          pod.ended(),
          pod.running(),
          resource,
          requests,
          annotations,
          new PreemptionInfo(priority, Map.of(), 0, false, null));
    }
  }

  /** Pods with equal requests. */
  private static final class Kind {
    final Shape shape;
    final int chars;
    final Map<String, Rejected> pods = new LinkedHashMap<>();

    private @Nullable RequestsByReplicas requests;

    Kind(Shape shape) {
      this.shape = shape;
      this.chars = shape.chars();
    }

    GpuRequest request(PodFacts pod, int nodeReplicas) {
      RequestsByReplicas known = requests == null ? new RequestsByReplicas(pod) : requests;
      requests = known;
      return known.of(nodeReplicas);
    }
  }

  /**
   * @param nodes that refused it, by their {@link NodeFitCache#index}: thousands of names for each
   *     of a thousand pods would be 50 MiB
   * @param unknownToo whether a node refused it that has no index, which may be any node that comes
   * @param fragmented whether one of them has enough free replicas, but not on enough single GPUs
   */
  private record Rejected(
      PodFacts pod, long atMs, Kind kind, BitSet nodes, boolean unknownToo, boolean fragmented) {
    boolean refusedBy(int index) {
      return unknownToo || nodes.get(index);
    }
  }

  public UnschedulablePods(SchedulingCore core, ExtenderMetrics metrics) {
    this.ledger = core.ledger;
    this.evaluations = core.fits;
    this.evaluator = core.evaluator;
    this.metrics = metrics;
  }

  void rejected(PodFacts pod, List<NodeFit> evaluations, long nowMs) {
    forget(pod.uid());
    BitSet nodes = indexes(evaluations);
    boolean unknownToo = nodes.cardinality() < evaluations.size();
    boolean fragmented = evaluations.stream().anyMatch(UnschedulablePods::fragmented);
    Kind kind = kinds.computeIfAbsent(Shape.of(pod), this::kind);
    var rejected = new Rejected(kind.shape.kept(pod), nowMs, kind, nodes, unknownToo, fragmented);
    kind.pods.put(pod.uid(), rejected);
    pods.put(pod.uid(), rejected);
    while (pods.size() > PODS_MAX || chars > CHARS_MAX) {
      forget(pods.keySet().iterator().next());
      metrics.waitingEvicted.increment();
    }
  }

  private BitSet indexes(List<NodeFit> refused) {
    var indexes = new BitSet();
    for (NodeFit evaluation : refused) {
      int index = evaluations.index(evaluation.node());
      if (index >= 0) {
        indexes.set(index);
      }
    }
    return indexes;
  }

  private Kind kind(Shape shape) {
    var kind = new Kind(shape);
    chars += kind.chars;
    return kind;
  }

  /** Returns the number of characters kept of all pods' requests. */
  int chars() {
    return chars;
  }

  /** Returns what is kept of a rejected pod. */
  Optional<PodFacts> kept(String uid) {
    return Optional.ofNullable(pods.get(uid)).map(Rejected::pod);
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
    Rejected rejected = pods.remove(uid);
    if (rejected != null) {
      Kind kind = rejected.kind();
      kind.pods.remove(uid);
      if (kind.pods.isEmpty()) {
        kinds.remove(kind.shape);
        chars -= kind.chars;
      }
    }
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
      LongSupplier clockMs,
      Predicate<String> mayPatch,
      Function<String, Future<?>> patch) {
    long nowMs = clockMs.getAsLong();
    forgetDeleted(nowMs);
    fragmented = pods.values().stream().filter(Rejected::fragmented).count();
    if (patchDone() && nowMs - lastMs >= BETWEEN_MS) {
      tryChangedNodes(policyOf, clockMs, nowMs, mayPatch, patch);
    }
    untried = changed.size();
  }

  private void forgetDeleted(long nowMs) {
    pods.values().stream()
        .filter(rejected -> nowMs - rejected.atMs() > UNTRIED_MS)
        .map(rejected -> rejected.pod().uid())
        .filter(uid -> ledger.pod(uid).isEmpty())
        .toList()
        .forEach(this::forget);
  }

  private void tryChangedNodes(
      Function<PodFacts, Policy> policyOf,
      LongSupplier clockMs,
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
      while (!late && now.kinds().hasNext()) {
        fitting(now.kinds().next(), now.node(), policyOf, nowMs, wakes);
        late = clockMs.getAsLong() - nowMs >= WITHIN_MS;
      }
      round = now.kinds().hasNext() ? now : null;
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
        return new Round(node, List.copyOf(kinds.values()).iterator());
      }
    }
    return null;
  }

  /**
   * Adds the pods that the node refused and that fit there now, judged as Filter does: a pod's own
   * hold does not count, nor does a nominated pod's hold for a pod of higher priority.
   */
  private void fitting(
      Kind kind,
      String node,
      Function<PodFacts, Policy> policyOf,
      long nowMs,
      List<Rejected> wakes) {
    int index = evaluations.index(node);
    if (index < 0) {
      return;
    }
    boolean nominated = evaluator.nominatedOn(node);
    var fitsByPriority = new HashMap<Integer, Boolean>();
    for (Rejected rejected : kind.pods.values()) {
      if (!rejected.refusedBy(index)) {
        continue;
      }
      PodFacts pod = rejected.pod();
      boolean holds = ledger.hold(pod.uid()).map(Hold::node).filter(node::equals).isPresent();
      int priority = nominated ? pod.preemption().priority() : 0;
      boolean fits =
          holds
              ? fits(rejected, node, policyOf, nowMs)
              : fitsByPriority.computeIfAbsent(
                  priority, p -> fits(rejected, node, policyOf, nowMs));
      if (fits) {
        wakes.add(rejected);
      }
    }
  }

  private boolean fits(
      Rejected rejected, String node, Function<PodFacts, Policy> policyOf, long nowMs) {
    PodFacts pod = rejected.pod();
    Policy policy = policyOf.apply(pod);
    return evaluator
        .snapshot(pod, node, nowMs)
        .filter(now -> evaluator.fits(now, rejected.kind().request(pod, now.replicas()), policy))
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
