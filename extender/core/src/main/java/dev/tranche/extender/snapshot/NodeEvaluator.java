package dev.tranche.extender.snapshot;

import dev.tranche.api.Names;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.RequestsByReplicas;
import dev.tranche.extender.placement.GpuRequest;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.snapshot.ClusterView.HoldFilter;
import dev.tranche.extender.snapshot.ClusterView.NodeGpus;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Evaluates how a node fits a pod: as things are, as if some pods had ended, or as if only lasting
 * holds counted. It reads the state and changes none of it. Confined to the loop.
 */
public final class NodeEvaluator {
  /**
   * A verb that takes longer to decide is given up, well before kube-scheduler's call times out.
   */
  public static final long DECIDE_WITHIN_MS = 3_000;

  /** Number of nodes evaluated between two looks at the clock: well within a millisecond. */
  public static final int NODES_BETWEEN_CLOCK_CHECKS = 16;

  /** How long a bound pod's GPU may be unknown before the pod counts as one that stays. */
  public static final long UNKNOWN_GPU_MS = 300_000;

  public static final String LATE = "the decision took too long; the pod will be retried";

  private final Ledger ledger;
  private final ClusterView cluster;
  private final NodeFitCache evaluations;
  private final Policy policy;
  private final LongSupplier clockMs;

  /** Whether idle GPUs are scarce among those that may serve the last pod. */
  private boolean idleScarce;

  /**
   * @param policy of pods that name none
   */
  public NodeEvaluator(
      Ledger ledger,
      ClusterView cluster,
      NodeFitCache evaluations,
      Policy policy,
      LongSupplier clockMs) {
    this.ledger = ledger;
    this.cluster = cluster;
    this.evaluations = evaluations;
    this.policy = policy;
    this.clockMs = clockMs;
  }

  /** Returns whether {@code packed} is the policy of pods that name none. */
  public boolean packsByDefault() {
    return policy == Policy.PACKED;
  }

  public Policy policyOf(PodFacts pod) {
    return policyOf(pod, idleScarce);
  }

  /**
   * @param scarce whether idle GPUs are scarce among those that may serve the pod
   */
  public Policy policyOf(PodFacts pod, boolean scarce) {
    String own = pod.annotations().get(Names.GPU_PLACEMENT);
    Policy requested = Policy.parse(own).orElse(policy);
    return requested == Policy.LOAD && scarce ? Policy.LOAD_SPARING_IDLE : requested;
  }

  /**
   * Sets whether idle GPUs are scarce, so that policy {@code load} spares them from now on.
   * kube-scheduler handles one pod after the other, so this holds until the same pod is
   * prioritized.
   */
  public void setIdleScarce(boolean scarce) {
    idleScarce = scarce;
  }

  /** Works on one node. An exception ends only that. */
  public void onNode(String node, Runnable work) {
    try {
      work.run();
    } catch (Turn.Over over) {
      throw over;
    } catch (RuntimeException bug) {
      cluster.failed(node, bug);
    }
  }

  /** Evaluates a node as it was read; on any thread. */
  public NodeFit evaluate(NodeSnapshot node, GpuRequest request, Policy chosen) {
    return cluster.evaluate(node.node(), request, node.nodeGpus(), chosen);
  }

  /** Evaluates nodes as they were read; on any thread. */
  public List<NodeFit> evaluate(PodFacts pod, List<NodeSnapshot> nodes, Policy chosen) {
    var requests = new RequestsByReplicas(pod);
    var fits = new ArrayList<NodeFit>(nodes.size());
    for (NodeSnapshot node : nodes) {
      fits.add(evaluate(node, requests.of(node.replicas()), chosen));
    }
    return fits;
  }

  public NodeFit evaluate(PodFacts pod, String node) {
    return forPod(pod).of(node);
  }

  /** Returns {@link #evaluate} for many nodes at one moment. */
  public ForPod forPod(PodFacts pod) {
    return forPod(pod, new Uncached());
  }

  /**
   * @param uncached what was found for the pod in earlier turns of the same call
   */
  public ForPod forPod(PodFacts pod, Uncached uncached) {
    return new ForPod(pod, uncached);
  }

  /**
   * Evaluations of nodes where a hold counts differently for one pod than for others. They are of
   * no use to other pods, so they are kept for one call only.
   */
  public static final class Uncached {
    private final Map<String, Found> byNode = new HashMap<>();

    private record Found(long ledgerVersion, Policy policy, NodeFit fit) {}
  }

  /** Evaluates many nodes at one moment for one pod; valid until the next event is applied. */
  public final class ForPod {
    private final PodFacts pod;
    private final Uncached uncached;
    private final long computedBefore = evaluations.computed();
    private final Policy chosen;
    private final NodeFitCache.Page page;
    private final String own;
    private final Set<String> nominated =
        ledger.nominatedPods().stream()
            .flatMap(uid -> ledger.hold(uid).stream())
            .map(Hold::node)
            .collect(Collectors.toSet());
    private final long nowMs;

    private ForPod(PodFacts pod, Uncached uncached) {
      this.pod = pod;
      this.uncached = uncached;
      this.nowMs = clockMs.getAsLong();
      this.chosen = policyOf(pod);
      this.page = evaluations.page(pod, chosen);
      this.own = ownNode(pod);
    }

    public NodeFit of(String node) {
      return node.equals(own) || nominated.contains(node) ? different(node) : page.of(node, nowMs);
    }

    private NodeFit different(String node) {
      long version = ledger.version(node);
      Uncached.Found known = uncached.byNode.get(node);
      if (known != null && known.ledgerVersion() == version && known.policy() == chosen) {
        return known.fit();
      }
      evaluations.countComputed();
      NodeFit fit = cluster.evaluate(pod, node, chosen, holdFilter(pod), nowMs);
      uncached.byNode.put(node, new Uncached.Found(version, chosen, fit));
      return fit;
    }

    /** Returns how many nodes were not cached, or had changed. */
    public long computed() {
      return evaluations.computed() - computedBefore;
    }

    /** Returns whether the decision has taken too long. */
    public boolean late() {
      return clockMs.getAsLong() > nowMs + DECIDE_WITHIN_MS;
    }
  }

  /**
   * Adds nodes as they are for a pod, in one turn.
   *
   * @param from the index of the first node
   * @return the index of the node after the last
   */
  public int addSnapshots(PodFacts pod, List<String> nodes, int from, List<NodeSnapshot> found) {
    long nowMs = clockMs.getAsLong();
    String own = ownNode(pod);
    int at = from;
    while (at < nodes.size() && (at == from || clockMs.getAsLong() < nowMs + Turn.MS_MAX)) {
      snapshotFor(pod, nodes.get(at++), own, nowMs).ifPresent(found::add);
    }
    return at;
  }

  /** Returns a node as it is for a pod; empty if it has no GPUs, or is gone. */
  public Optional<NodeSnapshot> snapshot(PodFacts pod, String node, long nowMs) {
    return snapshotFor(pod, node, ownNode(pod), nowMs);
  }

  private Optional<NodeSnapshot> snapshotFor(PodFacts pod, String node, String own, long nowMs) {
    NodeGpus nodeGpus =
        node.equals(own) || nominatedOn(node)
            ? cluster.nodeGpus(node, holdFilter(pod), nowMs)
            : evaluations.nodeGpus(node, nowMs);
    return nodeGpus.gpus().isEmpty()
        ? Optional.empty()
        : Optional.of(
            new NodeSnapshot(node, ledger.replicasPerGpu(node, pod.resource()), nodeGpus));
  }

  /**
   * Returns a node's GPUs as they would be for this pod after other pods are placed.
   *
   * @param more the holds of these other pods
   */
  public NodeGpus nodeGpusAfter(PodFacts pod, String node, List<Hold> more) {
    return cluster.nodeGpus(node, holdFilter(pod), more, clockMs.getAsLong());
  }

  /** Returns a lookup of nodes' GPUs at one moment, as they are for a pod that holds none. */
  public Function<String, List<GpuView>> gpus() {
    long nowMs = clockMs.getAsLong();
    return node -> evaluations.nodeGpus(node, nowMs).gpus();
  }

  /** Returns the node with the pod's own hold; empty if there is none. */
  private String ownNode(PodFacts pod) {
    return ledger.hold(pod.uid()).map(Hold::node).orElse("");
  }

  /** Returns whether a hold on the node counts only for pods of no higher priority. */
  public boolean nominatedOn(String node) {
    return !ledger.nominatedPods().isEmpty()
        && ledger.holds(node).stream().anyMatch(hold -> ledger.nominated(hold.uid()));
  }

  /** Returns whether a hold on the node may soon end or change by itself. */
  public boolean hasTemporaryHolds(String node) {
    long nowMs = clockMs.getAsLong();
    return ledger.hasTemporaryHolds(
        node,
        hold -> isTemporary(hold, nowMs) || ledger.terminatingPods.endsSoon(hold.uid(), nowMs));
  }

  /** A GPU that is still not known after {@link #UNKNOWN_GPU_MS} may never be. */
  private static boolean isTemporary(Hold hold, long nowMs) {
    return !hold.isBound() || (hold.placement() == null && nowMs - hold.sinceMs() < UNKNOWN_GPU_MS);
  }

  /** Evaluates the node as if these pods had ended. */
  public NodeFit evaluateWithout(PodFacts pod, String node, Set<String> gone) {
    var filter = new HoldFilter(counted(pod), gone);
    return cluster.evaluate(pod, node, policyOf(pod), filter, clockMs.getAsLong());
  }

  /**
   * Evaluates the node as if only lasting holds counted, so that a refusal is not transient. A pod
   * that has been terminating for long counts as lasting.
   *
   * @param kept uids of pods whose holds count as lasting, too
   */
  public NodeFit evaluateIgnoringTemporaryHolds(PodFacts pod, String node, Set<String> kept) {
    long nowMs = clockMs.getAsLong();
    Set<String> endingSoon =
        ledger.holds(node).stream()
            .map(Hold::uid)
            .filter(uid -> ledger.terminatingPods.endsSoon(uid, nowMs))
            .collect(Collectors.toSet());
    Predicate<Hold> lasting =
        hold ->
            !isTemporary(hold, nowMs) || ledger.nominated(hold.uid()) || kept.contains(hold.uid());
    var filter = new HoldFilter(counted(pod).and(lasting), endingSoon);
    return cluster.evaluate(pod, node, policyOf(pod), filter, nowMs);
  }

  private HoldFilter holdFilter(PodFacts pod) {
    return new HoldFilter(counted(pod), Set.of());
  }

  /**
   * Selects the holds that count against this pod. Its own hold never counts. A nominated pod's
   * hold does not count against a pod of higher priority.
   */
  private Predicate<Hold> counted(PodFacts pod) {
    Predicate<Hold> others = hold -> !hold.uid().equals(pod.uid());
    if (ledger.nominatedPods().isEmpty()) {
      return others;
    }
    int own = pod.preemption().priority();
    return others.and(
        hold ->
            !ledger.nominated(hold.uid())
                || ledger.pod(hold.uid()).map(p -> p.preemption().priority()).orElse(own) >= own);
  }
}
