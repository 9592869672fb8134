package dev.tranche.extender.verb;

import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.gang.Gangs;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.score.IdleGpus;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.snapshot.NodeEvaluator;
import dev.tranche.extender.snapshot.NodeFit;
import dev.tranche.extender.snapshot.Offer;
import dev.tranche.extender.snapshot.PackedPolicy;
import dev.tranche.extender.snapshot.Turn;
import dev.tranche.extender.state.SchedulingState;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Selects, among the nodes that kube-scheduler names, those with a GPU for the pod. To evaluate
 * thousands of nodes anew takes longer than others should wait, so that is done in turns. A
 * decision is made within one turn, from what is cached.
 */
public final class Filter {
  /** So many snapshots and fits of nodes may be computed in the turn that decides. */
  static final int ANEW_MAX = 64;

  private static final String RESERVED =
      "the free replicas are held for other pods that are being scheduled; the pod will be retried";

  private static final String UNACKNOWLEDGED =
      "only nodes that do not acknowledge assignments fit; the pod will be retried";

  private final SchedulingCore core;
  private final SchedulingState state;
  private final Ledger ledger;
  private final NodeEvaluator evaluator;
  private final ExtenderMetrics metrics;
  private final int offeredMax;
  private final Consumer<Runnable> loop;
  private final LongSupplier clockMs;

  /** The call before. The next one begins when it is answered. */
  private Future<?> previous = Future.succeededFuture();

  /** Where the next search among nodes of equal score starts. */
  private int rotation;

  /**
   * The nodes that fit the current pod. The list is reused for every pod, since it may have
   * thousands of entries.
   */
  private final List<NodeFit> fitting = new ArrayList<>();

  private final List<NodeFit> refused = new ArrayList<>();

  /**
   * @param offeredMax the most nodes, the best ones, that a pod without soft preferences is
   *     offered, so that kube-scheduler doesn't score thousands; 0: all that fit
   * @param loop runs something in a later turn
   */
  public Filter(
      SchedulingCore core,
      SchedulingState state,
      ExtenderMetrics metrics,
      int offeredMax,
      Consumer<Runnable> loop) {
    this.core = core;
    this.state = state;
    this.ledger = core.ledger;
    this.evaluator = core.evaluator;
    this.metrics = metrics;
    this.offeredMax = offeredMax;
    this.loop = loop;
    this.clockMs = core.clockMs;
  }

  /** Records what a pod requests beside GPUs. */
  public void requested(String uid, HostRequest request) {
    core.packing.requested(uid, request);
  }

  public sealed interface Answer {
    /**
     * @param nodes that fit
     * @param refused the nodes that don't fit, by reason
     */
    record Nodes(List<String> nodes, Map<Reason, List<String>> refused) implements Answer {}

    /** Nothing could be decided; kube-scheduler retries with backoff. */
    record Undecided(String error) implements Answer {}
  }

  /**
   * Decides in turns on the loop, one call after the other.
   *
   * @param group the pod's PodGroup, {@code namespace/name}; empty if it has none
   */
  public Future<Answer> inTurns(
      PodFacts pod, List<String> names, boolean hasNodePreferences, String group) {
    if (pod.servedByOthers()) {
      return Future.succeededFuture(elsewhere(names));
    }
    var call = new Call(pod, names, hasNodePreferences, group, clockMs.getAsLong());
    Future<Answer> answer =
        previous.transform(
            done -> {
              Promise<Answer> promise = Promise.promise();
              turn(call, promise);
              return promise.future();
            });
    previous = answer;
    return answer;
  }

  private Answer elsewhere(List<String> names) {
    Optional<String> notReady = state.readiness.notDeciding();
    if (notReady.isPresent()) {
      return new Answer.Undecided(notReady.get());
    }
    Answer answer = PodsOfOthers.filter(ledger, names);
    if (answer instanceof Answer.Nodes(var offered, var refused)) {
      refused.forEach((reason, nodes) -> metrics.denied(reason).increment(nodes.size()));
    }
    return answer;
  }

  private void turn(Call call, Promise<Answer> promise) {
    try {
      @Nullable Answer answer = call.turn();
      if (answer == null) {
        loop.accept(() -> turn(call, promise));
      } else {
        promise.complete(answer);
      }
    } catch (Throwable bug) {
      // Errors too: kube-scheduler waits for the answer, and so do the calls that follow.
      promise.fail(bug);
    }
  }

  /** One call, with what its turns have found. */
  private final class Call {
    private final PodFacts pod;
    private final List<String> names;
    private final boolean hasNodePreferences;
    private final String group;
    private final long untilMs;
    private final NodeEvaluator.Uncached uncached = new NodeEvaluator.Uncached();

    /** The nodes that refuse the pod whatever ends soon, with their versions. */
    private final Map<String, Long> lasting = new HashMap<>();

    private boolean begun;

    /** The index of the next node that is evaluated. */
    private int next;

    /** The snapshots and fits that were computed since the first node's. */
    private long anew = Long.MAX_VALUE;

    Call(PodFacts pod, List<String> names, boolean hasNodePreferences, String group, long nowMs) {
      this.pod = pod;
      this.names = names;
      this.hasNodePreferences = hasNodePreferences;
      this.group = group;
      this.untilMs = nowMs + NodeEvaluator.DECIDE_WITHIN_MS;
    }

    /** Returns the answer; null if it takes another turn. */
    @Nullable Answer turn() {
      @Nullable Answer early = begin();
      @Nullable Answer answer = early == null ? evaluate() : early;
      if (!group.isEmpty() && answer != null) {
        settle(answer);
      }
      return answer;
    }

    /** An error ends the attempt of the whole gang, as a refusal may; see {@link #refused}. */
    private void settle(Answer answer) {
      switch (answer) {
        case Answer.Undecided undecided -> release(core.gangs.undecided(group));
        case Answer.Nodes(var offered, var reasons) -> {
          if (!offered.isEmpty()) {
            core.gangs.fits(group, pod.uid(), clockMs.getAsLong());
          }
        }
      }
    }

    /**
     * No node fits. If its gang cannot be complete without the pod, the other members' holds are
     * released. The pod alone would fit then, so kube-scheduler is not woken for it: whatever
     * happens in the cluster makes it try the gang again.
     */
    private void refused() {
      Gangs.Refusal refusal =
          group.isEmpty()
              ? Gangs.Refusal.NONE
              : core.gangs.refused(
                  group, pod.uid(), uid -> ledger.pod(uid).isPresent(), clockMs.getAsLong());
      release(refusal.release());
      if (refusal.release().isEmpty()) {
        state.waiting.rejected(pod, refused);
      }
      core.explanations.rejected(pod, refused, refusal.sentence());
    }

    private @Nullable Answer begin() {
      Optional<String> notReady = state.readiness.notDeciding();
      if (notReady.isPresent()) {
        return new Answer.Undecided(notReady.get());
      }
      @Nullable Answer bound = bindUnderWay(pod, names);
      if (bound == null && !begun) {
        begun = true;
        state.nominees.planAll();
        // Drops the pod's tentative hold: this decision, or another pod's, may need those replicas.
        state.apply(new Event.Release(pod.uid()));
      }
      return bound;
    }

    /**
     * Evaluates the nodes. If all of that took one turn, their evaluations are of one moment, and
     * the pod is decided by them. Otherwise they are looked up again: only those that have changed
     * since are evaluated anew. As soon as these are few, the turn lasts until the decision.
     */
    private @Nullable Answer evaluate() {
      boolean whole = next == 0;
      long endMs = whole && anew <= ANEW_MAX ? Long.MAX_VALUE : endMs();
      NodeEvaluator.ForPod now = evaluator.forPod(pod, uncached);
      if (whole) {
        anew = 0;
        fitting.clear();
        refused.clear();
      }
      int first = next;
      int gpus = 0;
      int idle = 0;
      while (next < names.size()) {
        if (next % NodeEvaluator.NODES_BETWEEN_CLOCK_CHECKS == 0 && late()) {
          return new Answer.Undecided(NodeEvaluator.LATE);
        }
        if (next > first && isOver(endMs)) {
          anew += now.computed();
          return null;
        }
        NodeFit evaluation = now.of(names.get(next++));
        if (whole) {
          (evaluation.fits() ? fitting : refused).add(evaluation);
          gpus += evaluation.measuredGpus();
          idle += evaluation.idleGpus();
        }
      }
      next = 0;
      anew += now.computed();
      return whole && !scarcityChanges(new IdleGpus(gpus, idle)) ? decide() : null;
    }

    /**
     * Under policy {@code load}: returns whether idle GPUs have become scarce, or have ceased to
     * be, so that the nodes are evaluated again.
     */
    private boolean scarcityChanges(IdleGpus all) {
      Policy before = evaluator.policyOf(pod);
      if (before != Policy.LOAD && before != Policy.LOAD_SPARING_IDLE) {
        return false;
      }
      evaluator.setIdleScarce(all.scarce());
      return evaluator.policyOf(pod) != before;
    }

    private @Nullable Answer decide() {
      Transience transience = fitting.isEmpty() ? transience() : Transience.NONE;
      if (!transience.known()) {
        return null;
      }
      core.explanations.filtered(pod, evaluator.policyOf(pod), fitting, refused);
      if (transience.why().isPresent()) {
        return new Answer.Undecided(transience.why().get());
      }
      Map<Reason, List<String>> reasons = reasons(refused);
      reasons.forEach((reason, nodes) -> metrics.denied(reason).increment(nodes.size()));
      if (fitting.isEmpty()) {
        refused();
      } else if (evaluator.policyOf(pod) == Policy.PACKED) {
        return new Answer.Nodes(names(packed()), reasons);
      }
      List<NodeFit> offered = hasNodePreferences ? fitting : best();
      if (offered.size() == 1) {
        // With one node left kube-scheduler skips prioritize.
        NodeFit only = offered.getFirst();
        only.placement().ifPresent(place -> reserve(only.node(), place));
      }
      return new Answer.Nodes(names(offered), reasons);
    }

    /**
     * Returns why the pod may fit soon: a node's first report is awaited, the holds in the way may
     * go, or a node with room is in backoff. Such an error makes kube-scheduler retry; a refusal
     * would make it evict pods. Nothing if each node refuses the pod for a lasting reason.
     */
    private Transience transience() {
      Optional<String> why = awaiting();
      if (why.isPresent()) {
        return new Transience(true, why);
      }
      long endMs = endMs();
      boolean looked = false;
      // The members of its gang that hold replicas are in the way to stay.
      Set<String> own = group.isEmpty() ? Set.of() : core.gangs.holding(group);
      for (NodeFit evaluation : refused) {
        String node = evaluation.node();
        if (!couldChange(evaluation)
            || ledger.onlyLastingHolds(node)
            || lasting.getOrDefault(node, -1L) == ledger.version(node)) {
          continue;
        }
        if (late()) {
          return new Transience(true, Optional.of(NodeEvaluator.LATE));
        }
        if (looked && isOver(endMs)) {
          return new Transience(false, Optional.empty());
        }
        if (evaluator.hasTemporaryHolds(node)
            && evaluator.evaluateIgnoringTemporaryHolds(pod, node, own).fits()) {
          return new Transience(true, Optional.of(RESERVED));
        }
        if (!ledger.onlyLastingHolds(node)) {
          lasting.put(node, ledger.version(node));
        }
        looked = true;
      }
      return Transience.NONE;
    }

    /** Chooses the node here, where all nodes are known; prioritize only repeats the choice. */
    private List<NodeFit> packed() {
      Optional<PackedPolicy.Winner> winner = core.packing.choose(pod, fitting);
      winner.ifPresent(w -> reserve(w.evaluation().node(), w.placement()));
      return hasNodePreferences || offeredMax == 0
          ? fitting
          : winner.map(w -> List.of(w.evaluation())).orElse(fitting);
    }

    /**
     * Rotates among nodes of equal score, so that successive pods aren't all offered the same
     * nodes.
     */
    private List<NodeFit> best() {
      var offer = new Offer(evaluator.policyOf(pod), offeredMax, rotation);
      rotation = offer.rotationAfter(fitting);
      return offer.of(fitting);
    }

    private void reserve(String node, Placement place) {
      state.apply(new Event.Reserve(pod, node, place));
    }

    private boolean late() {
      return clockMs.getAsLong() > untilMs;
    }

    private long endMs() {
      return clockMs.getAsLong() + Turn.MS_MAX;
    }

    private boolean isOver(long endMs) {
      return endMs < Long.MAX_VALUE && clockMs.getAsLong() >= endMs;
    }
  }

  /**
   * Whether a pod that no node fits may fit soon.
   *
   * @param known false if the turn was too short to find out
   */
  private record Transience(boolean known, Optional<String> why) {
    static final Transience NONE = new Transience(true, Optional.empty());
  }

  private @Nullable Answer bindUnderWay(PodFacts pod, List<String> names) {
    Optional<Hold> hold = ledger.hold(pod.uid()).filter(h -> !h.isTentative());
    if (hold.isEmpty()) {
      return null;
    }
    String node = hold.get().node();
    return names.contains(node)
        ? new Answer.Nodes(List.of(node), Map.of())
        : new Answer.Undecided("pod " + pod.key() + " is being bound to node " + node);
  }

  private static List<String> names(List<NodeFit> evaluations) {
    return evaluations.stream().map(NodeFit::node).toList();
  }

  /**
   * Returns what filter would wait for before it refuses a pod on these nodes: a first report, or
   * the end of a node's backoff.
   */
  private Optional<String> awaiting() {
    return state
        .readiness
        .awaitingFirstReports()
        .filter(why -> anyRefusedFor(Reason.NO_REPORT))
        .or(
            () ->
                anyRefusedFor(Reason.NOT_ACKNOWLEDGING)
                    ? Optional.of(UNACKNOWLEDGED)
                    : Optional.empty());
  }

  private boolean anyRefusedFor(Reason reason) {
    return refused.stream().anyMatch(fit -> fit.refusedFor(reason));
  }

  /** Gives up the tentative holds of these pods. */
  private void release(List<String> uids) {
    for (String uid : uids) {
      if (ledger.hold(uid).filter(Hold::isTentative).isPresent()) {
        state.apply(new Event.Release(uid));
      }
    }
  }

  private static boolean couldChange(NodeFit evaluation) {
    return switch (evaluation.refusal()) {
      case FULL, FRAGMENTED, TOO_FEW_GPUS, CLIENTS, MEMORY, UNDECIDED -> true;
      case null, default -> false;
    };
  }

  /** Leaves out nodes in backoff: what is wrong with them is nothing that an eviction resolves. */
  private static Map<Reason, List<String>> reasons(List<NodeFit> refused) {
    var reasons = new EnumMap<Reason, List<String>>(Reason.class);
    for (NodeFit evaluation : refused) {
      Reason reason = evaluation.refusal();
      if (reason != null && reason != Reason.NOT_ACKNOWLEDGING) {
        List<String> known = reasons.get(reason);
        List<String> nodes = known == null ? new ArrayList<>(refused.size()) : known;
        nodes.add(evaluation.node());
        reasons.put(reason, nodes);
      }
    }
    return reasons;
  }
}
