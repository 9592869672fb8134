package dev.tranche.extender.state;

import dev.tranche.api.Demand;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.placement.GpuRequest;
import dev.tranche.extender.placement.Outcome;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.snapshot.ClusterSnapshot;
import dev.tranche.extender.snapshot.NodeFit;
import dev.tranche.extender.snapshot.NodeFitCache;
import io.vertx.core.Future;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Pods that filter has rejected, and the nodes whose room has grown since. kube-scheduler retries a
 * rejected pod when something in the cluster changes, but falling load changes no object. Once a
 * pod would fit on a node that refused it, that node is named for a patch.
 *
 * <p>Each turn is bounded by time and continues where the last one stopped. It goes node by node in
 * the order of their changes, and on each node through all kinds of pods. Pods that ask the same
 * are tried once.
 */
public final class UnschedulablePods {
  static final int PODS_MAX = 1_000;
  static final long BETWEEN_MS = 1_000;

  /** Of all that they ask. Admission bounds a pod's lists to a thousandth of that. */
  static final int CHARS_MAX = 4 << 20;

  /** For one turn, at the least one kind of pod on one node. */
  static final long WITHIN_MS = 10;

  private final Ledger ledger;
  private final NodeFitCache evaluations;
  private final ClusterSnapshot snapshot;
  private final ExtenderMetrics metrics;
  private final Map<String, Rejected> pods = new LinkedHashMap<>();
  private final Map<Shape, Kind> kinds = new LinkedHashMap<>();
  private final Set<String> changed = new LinkedHashSet<>();

  /** Of all kinds. */
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

  /** All that decides on a pod's placement, beside node and policy. */
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

    /** The pod without what it says of other things, which may be long. */
    PodFacts kept(PodFacts pod) {
      return new PodFacts(
          pod.uid(),
          pod.namespace(),
          pod.name(),
          pod.node(),
          pod.ended(),
          pod.running(),
          resource,
          requests,
          annotations);
    }
  }

  /** Pods that ask the same. */
  private static final class Kind {
    final Shape shape;
    final int chars;
    final Map<String, Rejected> pods = new LinkedHashMap<>();

    /** By R. A list of names may be long, so it is read once. */
    private final Map<Integer, GpuRequest> requestsByReplicas = new HashMap<>();

    Kind(Shape shape) {
      this.shape = shape;
      this.chars = shape.chars();
    }

    GpuRequest ask(PodFacts pod, int nodeReplicas) {
      return requestsByReplicas.computeIfAbsent(nodeReplicas, pod::ask);
    }
  }

  /**
   * @param nodes that refused it, sorted
   * @param fragmented one of them has replicas enough, but not enough GPUs with room
   */
  private record Rejected(PodFacts pod, Kind kind, List<String> nodes, boolean fragmented) {
    boolean refusedBy(String node) {
      return Collections.binarySearch(nodes, node) >= 0;
    }
  }

  public UnschedulablePods(
      Ledger ledger, NodeFitCache evaluations, ClusterSnapshot snapshot, ExtenderMetrics metrics) {
    this.ledger = ledger;
    this.evaluations = evaluations;
    this.snapshot = snapshot;
    this.metrics = metrics;
  }

  void rejected(PodFacts pod, List<NodeFit> evaluations) {
    forget(pod.uid());
    List<String> nodes = evaluations.stream().map(NodeFit::node).sorted().toList();
    boolean fragmented = evaluations.stream().anyMatch(UnschedulablePods::fragmented);
    Kind kind = kinds.computeIfAbsent(Shape.of(pod), this::kind);
    var rejected = new Rejected(kind.shape.kept(pod), kind, nodes, fragmented);
    kind.pods.put(pod.uid(), rejected);
    pods.put(pod.uid(), rejected);
    while (pods.size() > PODS_MAX || chars > CHARS_MAX) {
      forget(pods.keySet().iterator().next());
      metrics.waitingEvicted.increment();
    }
  }

  private Kind kind(Shape shape) {
    var kind = new Kind(shape);
    chars += kind.chars;
    return kind;
  }

  /** Characters of all that is kept of what pods ask. */
  int chars() {
    return chars;
  }

  private static boolean fragmented(NodeFit evaluation) {
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

  /** A pod could fit on the node that did not before. */
  public void changed(String node) {
    if (!pods.isEmpty()) {
      changed.add(node);
    }
  }

  public int size() {
    return pods.size();
  }

  /** Nodes whose room has grown, and that no rejected pod was tried on since. */
  public int untriedNodes() {
    return untried;
  }

  /**
   * Patches a node that a rejected pod would fit on now: at most one a second, one at a time. The
   * pods wait until it is done, so that one that failed is tried again.
   */
  void wake(
      Function<PodFacts, Policy> policyOf,
      LongSupplier clockMs,
      Function<String, Future<?>> patch) {
    fragmented = pods.values().stream().filter(Rejected::fragmented).count();
    long nowMs = clockMs.getAsLong();
    if (settled() && nowMs - lastMs >= BETWEEN_MS) {
      look(policyOf, clockMs, nowMs, patch);
    }
    untried = changed.size();
  }

  private void look(
      Function<PodFacts, Policy> policyOf,
      LongSupplier clockMs,
      long nowMs,
      Function<String, Future<?>> patch) {
    boolean late = false;
    while (!late && (round != null || !changed.isEmpty())) {
      Round now = round == null ? next() : round;
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

  private Round next() {
    Iterator<String> oldest = changed.iterator();
    String node = oldest.next();
    oldest.remove();
    return new Round(node, List.copyOf(kinds.values()).iterator());
  }

  /** Those that the node refused and that fit there now. */
  private void fitting(
      Kind kind,
      String node,
      Function<PodFacts, Policy> policyOf,
      long nowMs,
      List<Rejected> wakes) {
    Boolean alike = null;
    for (Rejected rejected : kind.pods.values()) {
      if (!rejected.refusedBy(node)) {
        continue;
      }
      PodFacts pod = rejected.pod();
      boolean holds = ledger.hold(pod.uid()).map(Hold::node).filter(node::equals).isPresent();
      if (holds) {
        // Its own hold does not count: it sees another room than the others.
        ClusterSnapshot.Seen own =
            snapshot.seen(node, ClusterSnapshot.Present.ALL.without(pod), nowMs);
        if (fits(rejected, own, node, policyOf)) {
          wakes.add(rejected);
        }
        continue;
      }
      if (alike == null) {
        alike = fits(rejected, evaluations.seen(node, nowMs), node, policyOf);
      }
      if (alike) {
        wakes.add(rejected);
      }
    }
  }

  private boolean fits(
      Rejected rejected,
      ClusterSnapshot.Seen seen,
      String node,
      Function<PodFacts, Policy> policyOf) {
    PodFacts pod = rejected.pod();
    GpuRequest ask = rejected.kind().ask(pod, ledger.replicasPerGpu(node, pod.resource()));
    return ClusterSnapshot.outcome(ask, seen, policyOf.apply(pod)) instanceof Outcome.Fits;
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
      forget(uid);
    }
  }
}
