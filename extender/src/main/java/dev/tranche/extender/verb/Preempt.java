package dev.tranche.extender.verb;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.NodeNeeds;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.preempt.Budgets;
import dev.tranche.extender.preempt.Candidates;
import dev.tranche.extender.preempt.NodeVictims;
import dev.tranche.extender.preempt.Proposal;
import dev.tranche.extender.preempt.ReplicaBound;
import dev.tranche.extender.preempt.Victims;
import dev.tranche.extender.preempt.Victims.Candidate;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.snapshot.NodeEvaluator;
import dev.tranche.extender.snapshot.NodeFit;
import dev.tranche.extender.snapshot.Trials;
import dev.tranche.extender.snapshot.Turn;
import dev.tranche.extender.state.SchedulingState;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Chooses which pods to evict for a pod, on the nodes that kube-scheduler's dry run proposes. The
 * dry run counts only a node's totals, so victims are chosen anew among all pods of lower priority
 * that hold GPUs. A node where no eviction frees enough is dropped.
 */
public final class Preempt {
  /**
   * The most nodes to evaluate. The dry run proposes more in a larger cluster, and kube-scheduler
   * waits for the answer.
   */
  static final int NODES_MAX = 100;

  /**
   * The most comparisons of one call: pairs of a hold and a GPU, and values of
   * PodDisruptionBudgets. A node of 8 GPUs and 80 pods costs 648 for each evaluation, and mostly
   * has two.
   */
  static final long WORK_MAX = 200_000;

  /**
   * How long a call waits for what a decision needs and is not known yet. After an error
   * kube-scheduler retries the pod only once a pod ends or a node grows, or after five minutes. Its
   * call times out after 10 s.
   */
  static final long KNOWN_WITHIN_MS = 5_000;

  /**
   * What has been unknown for so long is waited for no longer. kube-scheduler decides about one pod
   * after the other, so each wait holds up all.
   */
  static final long UNKNOWN_MAX_MS = 30_000;

  /** The time within which kube-scheduler has seen what this extender saw. */
  private static final long SEEN_WITHIN_MS = 10_000;

  private static final int MIB_SHIFT = 20;
  private static final VictimUids NO_VICTIMS = new VictimUids(List.of(), 0);

  private final SchedulingCore core;
  private final SchedulingState state;
  private final Ledger ledger;
  private final ExtenderMetrics metrics;
  private final Consumer<Runnable> loop;
  private final Consumer<Runnable> soon;

  /** Since when something has been unknown; empty while nothing is. */
  private OptionalLong unknownSinceMs = OptionalLong.empty();

  /** The call before. The next one begins when it is answered. */
  private Future<?> previous = Future.succeededFuture();

  /**
   * @param loop runs something in a later turn
   * @param soon runs something on the loop a little later
   */
  public Preempt(
      SchedulingCore core,
      SchedulingState state,
      ExtenderMetrics metrics,
      Consumer<Runnable> loop,
      Consumer<Runnable> soon) {
    this.core = core;
    this.state = state;
    this.ledger = core.ledger;
    this.metrics = metrics;
    this.loop = loop;
    this.soon = soon;
  }

  /**
   * Victims of one node, as kube-scheduler's MetaVictims name them.
   *
   * @param uids never empty in an answer
   */
  public record VictimUids(
      @JsonIgnore List<String> uids, @JsonProperty("NumPDBViolations") long violations) {
    public VictimUids {
      uids = List.copyOf(uids);
    }

    record Victim(@JsonProperty("UID") String uid) {}

    @JsonCreator
    static VictimUids of(
        @JsonProperty("Pods") @JsonSetter(contentNulls = Nulls.FAIL) List<Victim> pods,
        @JsonProperty("NumPDBViolations") long violations) {
      if (pods.stream().anyMatch(pod -> pod.uid().isEmpty())) {
        throw new IllegalArgumentException("a victim without UID");
      }
      return new VictimUids(pods.stream().map(Victim::uid).toList(), violations);
    }

    @JsonProperty("Pods")
    List<Victim> pods() {
      return uids.stream().map(Victim::new).toList();
    }
  }

  public sealed interface Answer {
    record Nodes(Map<String, VictimUids> victims) implements Answer {}

    /** Too little is known to evict anyone. */
    record Undecided(String why) implements Answer {}
  }

  /**
   * @param version of the node when it was looked at
   */
  private record NodePlan(VictimUids victims, NodeVictims choice, Placement place, long version) {}

  /**
   * Chooses victims in turns on the loop, one call after the other. The answer goes by what is held
   * when it is given: a node that has changed since it was looked at is looked at again.
   *
   * @param offered the victims of kube-scheduler's dry run, by node
   */
  public Future<Answer> preempt(PodFacts pod, Map<String, VictimUids> offered) {
    if (pod.servedByOthers()) {
      return Future.succeededFuture(PodsOfOthers.preempt(ledger, offered));
    }
    long askedMs = core.nowMs();
    Future<Answer> answer =
        previous
            .transform(done -> allKnown())
            .compose(
                waitedMs -> {
                  long untilMs = askedMs + waitedMs + NodeEvaluator.DECIDE_WITHIN_MS;
                  var search = new Search(pod, offered, untilMs);
                  search.turn();
                  return search.answer.future();
                });
    previous = answer;
    return answer;
  }

  /**
   * Waits a while for what a decision needs. Another replica's leadership is not waited for.
   *
   * @return how long that took
   */
  private Future<Long> allKnown() {
    Promise<Long> promise = Promise.promise();
    lookAgain(core.nowMs(), promise);
    return promise.future();
  }

  private void lookAgain(long sinceMs, Promise<Long> promise) {
    long nowMs = core.nowMs();
    long waitedMs = nowMs - sinceMs;
    boolean settled = unknown().isEmpty() || state.readiness.leadershipMissing();
    if (settled) {
      unknownSinceMs = OptionalLong.empty();
    } else if (unknownSinceMs.isEmpty()) {
      unknownSinceMs = OptionalLong.of(nowMs);
    }
    boolean inVain =
        waitedMs >= KNOWN_WITHIN_MS
            || (waitedMs == 0 && nowMs - unknownSinceMs.orElse(nowMs) > UNKNOWN_MAX_MS);
    if (settled || inVain) {
      promise.complete(waitedMs);
    } else {
      soon.accept(() -> lookAgain(sinceMs, promise));
    }
  }

  private Optional<String> unknown() {
    return state
        .readiness
        .notDeciding()
        .or(state.readiness::awaitingFirstReports)
        .or(core.budgets::whyNotReady);
  }

  /** The search for one pod's victims. */
  private final class Search {
    final Promise<Answer> answer = Promise.promise();
    private final PodFacts pod;
    private final Map<String, VictimUids> offered;
    private final long untilMs;
    private final long nowMs = core.nowMs();
    private final Turn turn = new Turn(core.clockMs);
    private final Budgets budgets = core.budgets.budgets(turn);
    private final Trials trials;
    private final Map<String, NodePlan> plans = new LinkedHashMap<>();

    /** The nodes that are still to be looked at; null until the first turn has chosen them. */
    private @Nullable Deque<String> nodes;

    /** The comparisons of all turns. */
    private long work;

    Search(PodFacts pod, Map<String, VictimUids> offered, long untilMs) {
      this.pod = pod;
      this.offered = offered;
      this.untilMs = untilMs;
      this.trials = new Trials(core.evaluator, ledger, pod, turn);
    }

    void turn() {
      turn.begin();
      boolean goesOn = false;
      try {
        answer.complete(decide());
      } catch (Turn.Over over) {
        goesOn = true;
      } catch (Throwable bug) {
        // Errors too: kube-scheduler waits for the answer, and so do the calls that follow.
        answer.fail(bug);
      }
      work += turn.work();
      metrics.preemptWork.increment((double) turn.work());
      if (goesOn) {
        loop.accept(this::turn);
      }
    }

    private Answer decide() {
      Optional<String> unknown = unknown();
      if (unknown.isPresent()) {
        return new Answer.Undecided(unknown.get());
      }
      if (nodes == null) {
        state.nominees.planAll();
        nodes = new ArrayDeque<>(leastHarmFirst());
      }
      lookAtAll(nodes);
      if (plans.isEmpty() && late()) {
        return new Answer.Undecided(NodeEvaluator.LATE);
      }
      awaitedNode().ifPresent(awaited -> plans.keySet().retainAll(Set.of(awaited)));
      return answered();
    }

    private void lookAtAll(Deque<String> left) {
      do {
        while (!left.isEmpty() && hasTime()) {
          String node = left.getFirst();
          VictimUids victims = offered.getOrDefault(node, NO_VICTIMS);
          core.evaluator.onNode(
              node, () -> plan(node, victims).ifPresent(plan -> plans.put(node, plan)));
          left.removeFirst();
        }
        plans.entrySet().stream().filter(this::hasChanged).forEach(e -> left.add(e.getKey()));
        plans.entrySet().removeIf(this::hasChanged);
      } while (!left.isEmpty() && hasTime());
    }

    private boolean hasTime() {
      return work + turn.work() < WORK_MAX && !late();
    }

    private boolean late() {
      return core.nowMs() > untilMs;
    }

    private boolean hasChanged(Map.Entry<String, NodePlan> plan) {
      return ledger.version(plan.getKey()) != plan.getValue().version();
    }

    private Answer answered() {
      metrics.preempted(plans.size(), offered.size() - plans.size());
      nominate(pod, plans);
      var victims = new LinkedHashMap<String, VictimUids>();
      plans.forEach((node, plan) -> victims.put(node, plan.victims()));
      return new Answer.Nodes(victims);
    }

    /**
     * Returns the nodes to look at. A node for which the dry run proposes no victims comes last:
     * only the GPUs are in the way there, and perhaps no eviction helps. While victims on one node
     * are still ending for the pod, no other node is looked at. An error clears the pod's
     * nomination, so kube-scheduler may ask again.
     */
    private List<String> leastHarmFirst() {
      Optional<String> awaited = awaitedNode();
      return offered.entrySet().stream()
          .filter(e -> awaited.isEmpty() || awaited.get().equals(e.getKey()))
          .sorted(
              Comparator.comparing(
                      (Map.Entry<String, VictimUids> e) -> e.getValue().uids().isEmpty())
                  .thenComparingLong(e -> e.getValue().violations())
                  .thenComparingInt(e -> e.getValue().uids().size()))
          .limit(NODES_MAX)
          .map(Map.Entry::getKey)
          .toList();
    }

    /**
     * Returns the node where pods are still ending for this pod, or have just ended, if it fits
     * there without them.
     */
    private Optional<String> awaitedNode() {
      return ledger
          .awaitedHold(pod.uid(), nowMs)
          .or(() -> ledger.hold(pod.uid()).filter(this::hasJustBecomeFree))
          .map(Hold::node)
          .filter(node -> trials.without(node, ending(node)).fits());
    }

    private boolean hasJustBecomeFree(Hold hold) {
      return ledger.nominated(pod.uid())
          && ledger.endedSince(hold.node(), nowMs - SEEN_WITHIN_MS)
          && trials.without(hold.node(), Set.of()).fits();
    }

    private Set<String> ending(String node) {
      return ledger.holds(node).stream()
          .map(Hold::uid)
          .filter(uid -> ledger.terminatingPods.ends(uid, nowMs))
          .collect(Collectors.toSet());
    }

    /** Returns the victims on this node; empty if no eviction there helps. */
    private Optional<NodePlan> plan(String node, VictimUids offered) {
      List<Candidate> candidates = Candidates.of(ledger, pod, node, nowMs);
      Optional<Hold> held = heldOn(node);
      boolean stale = held.filter(this::isStillUnseen).isPresent();
      NodeNeeds left = left(node, others(candidates, offered));
      var proposal = new Proposal(pod, candidates, Set.copyOf(offered.uids()), left, stale);
      NodeFit now = trials.without(node, Set.of());
      if (now.fits() && !stale) {
        // A GPU is free as it is: the dry run evicts for something else.
        return plan(node, offered, proposal.offered(), candidates);
      }
      var victims =
          new Victims(
              budgets,
              new ReplicaBound(now.request(), now.gpus(), proposal),
              gone -> proposal.sufficesWithout(gone) && trials.without(node, gone).fits());
      return held.map(hold -> candidatesOnHeldGpus(hold, candidates))
          .flatMap(onHeld -> victims.choose(onHeld, proposal.kept()))
          .or(() -> victims.choose(candidates, proposal.offered()))
          .flatMap(choice -> plan(node, offered, choice, candidates));
    }

    private Optional<NodePlan> plan(
        String node, VictimUids offered, List<Candidate> chosen, List<Candidate> candidates) {
      List<PodFacts> pods = chosen.stream().map(Candidate::pod).toList();
      return plan(node, offered, budgets.choice(pods), candidates);
    }

    private Optional<NodePlan> plan(
        String node, VictimUids offered, NodeVictims choice, List<Candidate> candidates) {
      VictimUids victims = merge(choice, candidates, offered);
      return victims.uids().isEmpty()
          ? Optional.empty()
          : trials
              .without(node, new HashSet<>(victims.uids()))
              .placement()
              .map(place -> new NodePlan(victims, choice, place, ledger.version(node)));
    }

    /**
     * Returns the pod's hold on the node, if it's nominated: victims were already chosen for it
     * there.
     */
    private Optional<Hold> heldOn(String node) {
      return ledger
          .hold(pod.uid())
          .filter(hold -> hold.node().equals(node) && ledger.nominated(pod.uid()));
    }

    /**
     * Returns whether kube-scheduler may not have seen yet that the victims of this hold go, or are
     * gone. It may propose others for the same GPU then.
     */
    private boolean isStillUnseen(Hold hold) {
      long sinceMs = nowMs - SEEN_WITHIN_MS;
      return hold.sinceMs() > sinceMs
          || ledger.endedSince(hold.node(), sinceMs)
          || ledger.awaitedHold(pod.uid(), nowMs).isPresent();
    }

    /**
     * Returns what the node has left without the other victims; nothing unless the requests of all
     * pods are known.
     */
    private NodeNeeds left(String node, List<String> others) {
      return core.evaluator.packsByDefault()
          ? core.packing
              .hosts
              .freeWithout(node, others)
              .map(free -> new NodeNeeds(free.cpuMilli(), roundedDown(free), 0, false))
              .orElse(NodeNeeds.NONE)
          : NodeNeeds.NONE;
    }
  }

  /** The node's memory was rounded up to whole MiB. */
  private static long roundedDown(HostRequest free) {
    return (free.memoryMib() - 1) << MIB_SHIFT;
  }

  /**
   * Returns the candidates on the GPUs that are already held for the pod. kube-scheduler may ask
   * again before it sees the first victims terminate, and may propose other victims of equal rank.
   * While these GPUs can be freed, no pod on another GPU is evicted too.
   */
  private static List<Candidate> candidatesOnHeldGpus(Hold hold, List<Candidate> candidates) {
    return candidates.stream()
        .filter(each -> !Collections.disjoint(each.held().keySet(), hold.held().keySet()))
        .toList();
  }

  /**
   * Returns the proposed victims that are not candidates: they go anyway. Those that are gone are
   * left out. If kube-scheduler deleted them again, the event of their first deletion might come
   * while it waits for the second, and would not wake the pod.
   */
  private List<String> others(List<Candidate> candidates, VictimUids offered) {
    var ours = new HashSet<String>();
    candidates.forEach(c -> ours.add(c.pod().uid()));
    return offered.uids().stream().filter(uid -> !ours.contains(uid) && !ledger.gone(uid)).toList();
  }

  /**
   * Merges our victims with those of the dry run. Pods that hold GPUs are taken as chosen here, the
   * most important first. Other pods are kept as proposed: what they free, such as CPU, is not
   * judged here.
   */
  private VictimUids merge(NodeVictims choice, List<Candidate> candidates, VictimUids offered) {
    List<String> others = others(candidates, offered);
    var uids = new ArrayList<>(choice.victims().stream().map(PodFacts::uid).toList());
    uids.addAll(others);
    long violations = choice.violations() + Math.min(others.size(), offered.violations());
    return new VictimUids(uids, violations);
  }

  /**
   * Holds the GPU on the node that kube-scheduler will probably nominate; it ranks nodes by the
   * same criteria.
   */
  private void nominate(PodFacts pod, Map<String, NodePlan> plans) {
    var places = new LinkedHashMap<String, Placement>();
    plans.forEach((node, of) -> places.put(node, of.place()));
    plans.entrySet().stream()
        .min(
            Map.Entry.comparingByValue(
                Comparator.comparing(NodePlan::choice, NodeVictims.BETTER_FIRST)))
        .ifPresent(best -> state.apply(new Event.Nominate(pod, places, best.getKey())));
    state.nominees.planned(pod.uid());
  }
}
