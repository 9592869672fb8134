package dev.tranche.extender.snapshot;

import dev.tranche.api.Names;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.score.Policy;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/**
 * What a node could do for a pod: as things are, as if some pods had ended, or as if only what
 * lasts counted. Reads what is known and changes none of it. Confined to the loop.
 */
public final class NodeEvaluator {
  /** A verb that takes longer to decide is given up, well before kube-scheduler hangs up. */
  public static final long DECIDE_WITHIN_MS = 3_000;

  /** Number of nodes evaluated between two looks at the clock: well within a millisecond. */
  public static final int NODES_BETWEEN_CLOCK_CHECKS = 16;

  public static final String LATE = "the decision took too long; this is tried again";

  private final Ledger ledger;
  private final ClusterSnapshot snapshot;
  private final NodeFitCache evaluations;
  private final Policy policy;
  private final LongSupplier clockMs;

  /** Idle GPUs are scarce among those that the last pod could have. */
  private boolean sparing;

  /**
   * @param policy of pods that name none
   */
  public NodeEvaluator(
      Ledger ledger,
      ClusterSnapshot snapshot,
      NodeFitCache evaluations,
      Policy policy,
      LongSupplier clockMs) {
    this.ledger = ledger;
    this.snapshot = snapshot;
    this.evaluations = evaluations;
    this.policy = policy;
    this.clockMs = clockMs;
  }

  /** Whether pods are packed unless they say otherwise. */
  public boolean packs() {
    return policy == Policy.PACKED;
  }

  public Policy policyOf(PodFacts pod) {
    return policyOf(pod, sparing);
  }

  /**
   * @param scarce whether idle GPUs are, among those that the pod could have
   */
  public Policy policyOf(PodFacts pod, boolean scarce) {
    String own = pod.annotations().get(Names.GPU_PLACEMENT);
    Policy asked = Policy.parse(own).orElse(policy);
    return asked == Policy.LOAD && scarce ? Policy.SPARING : asked;
  }

  /**
   * Whether policy {@code load} spares idle GPUs from now on. kube-scheduler takes one pod after
   * the other, so this holds until the same pod is prioritized.
   */
  public void spare(boolean scarce) {
    sparing = scarce;
  }

  public NodeFit evaluate(PodFacts pod, String node) {
    return forPod(pod).of(node);
  }

  /** {@link #evaluate} for many nodes at one moment. */
  public ForPod forPod(PodFacts pod) {
    return new ForPod(pod);
  }

  /** Whether a decision that begins now has taken too long. */
  public BooleanSupplier lateFromNow() {
    long untilMs = clockMs.getAsLong() + DECIDE_WITHIN_MS;
    return () -> clockMs.getAsLong() > untilMs;
  }

  /** Many nodes at one moment, for one pod; good until an event is applied. */
  public final class ForPod {
    private final PodFacts pod;
    private final Policy chosen;
    private final NodeFitCache.Page page;
    private final String own;
    private final boolean alone;
    private final long nowMs;

    private ForPod(PodFacts pod) {
      this.pod = pod;
      this.nowMs = clockMs.getAsLong();
      this.chosen = policyOf(pod);
      this.page = evaluations.page(pod, chosen);
      this.own = ownNode(pod);
      this.alone = own.isEmpty() && ledger.nominations() == 0;
    }

    public NodeFit of(String node) {
      return alone || !seenOtherwise(node, own)
          ? page.of(node, nowMs)
          : snapshot.evaluate(pod, node, chosen, present(pod), nowMs);
    }

    /** The decision has taken too long. */
    public boolean late() {
      return clockMs.getAsLong() > nowMs + DECIDE_WITHIN_MS;
    }
  }

  /** All nodes with GPUs at one moment, as they are for this pod; may be read on any thread. */
  public List<NodeSnapshot> look(PodFacts pod) {
    long nowMs = clockMs.getAsLong();
    String own = ownNode(pod);
    var looked = new ArrayList<NodeSnapshot>();
    for (String name : ledger.nodes()) {
      ClusterSnapshot.Seen seen =
          seenOtherwise(name, own)
              ? snapshot.seen(name, present(pod), nowMs)
              : evaluations.seen(name, nowMs);
      if (!seen.gpus().isEmpty()) {
        looked.add(new NodeSnapshot(name, ledger.replicasPerGpu(name, pod.resource()), seen));
      }
    }
    return looked;
  }

  /**
   * A node's GPUs as this pod would see them after others.
   *
   * @param more what these others hold
   */
  public ClusterSnapshot.Seen seenAfter(PodFacts pod, String node, List<Hold> more) {
    return snapshot.seen(node, present(pod), more, clockMs.getAsLong());
  }

  /** Nodes' GPUs at one moment, as they are for a pod that holds none. */
  public Function<String, List<GpuView>> gpus() {
    long nowMs = clockMs.getAsLong();
    return node -> evaluations.gpus(node, nowMs);
  }

  /** The node with the pod's own hold; empty: none has. */
  private String ownNode(PodFacts pod) {
    return ledger.hold(pod.uid()).map(Hold::node).orElse("");
  }

  /** Some hold there counts otherwise for this pod than for others. */
  private boolean seenOtherwise(String node, String own) {
    return node.equals(own) || nominatedOn(node);
  }

  private boolean nominatedOn(String node) {
    return ledger.nominations() > 0
        && ledger.holds(node).stream().anyMatch(hold -> ledger.nominated(hold.uid()));
  }

  /** Whether some hold on the node may pass by itself before long. */
  public boolean unsettled(String node) {
    long nowMs = clockMs.getAsLong();
    return ledger.holds(node).stream()
        .anyMatch(
            hold ->
                hold.stage() != Hold.Stage.BOUND
                    || hold.placement() == null
                    || ledger.leaving().soon(hold.uid(), nowMs));
  }

  /** As if these pods had ended. */
  public NodeFit evaluateWithout(PodFacts pod, String node, Set<String> gone) {
    var present = new ClusterSnapshot.Present(counted(pod), gone);
    return snapshot.evaluate(pod, node, policyOf(pod), present, clockMs.getAsLong());
  }

  /**
   * As if only what lasts counted: what stands in the way then is not transient. A pod that
   * terminates lasts when it does so for long.
   */
  public NodeFit evaluateSettled(PodFacts pod, String node) {
    Set<String> leaving = ledger.leaving().soon(clockMs.getAsLong());
    Predicate<Hold> settled =
        hold ->
            (hold.stage() == Hold.Stage.BOUND && hold.placement() != null)
                || ledger.nominated(hold.uid());
    var present = new ClusterSnapshot.Present(counted(pod).and(settled), leaving);
    return snapshot.evaluate(pod, node, policyOf(pod), present, clockMs.getAsLong());
  }

  private ClusterSnapshot.Present present(PodFacts pod) {
    return new ClusterSnapshot.Present(counted(pod), Set.of());
  }

  /**
   * Holds that count against this pod: its own never does, and a GPU that is held for a nominated
   * pod is not held against one of higher priority.
   */
  private Predicate<Hold> counted(PodFacts pod) {
    Predicate<Hold> others = hold -> !hold.uid().equals(pod.uid());
    if (ledger.nominations() == 0) {
      return others;
    }
    int own = pod.standing().priority();
    return others.and(
        hold ->
            !ledger.nominated(hold.uid())
                || ledger.pod(hold.uid()).map(p -> p.standing().priority()).orElse(own) >= own);
  }
}
