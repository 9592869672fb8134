package dev.tranche.extender.verb;

import dev.tranche.extender.ledger.Decision;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.load.LoadCache;
import dev.tranche.extender.load.LoadCache.News;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.placement.MemoryGuard;
import dev.tranche.extender.preempt.Budget;
import dev.tranche.extender.preempt.Budgets;
import dev.tranche.extender.score.Policy;
import io.vertx.core.Future;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** All that the one event loop owns, and what is carried out of its decisions. */
public final class Core {
  /** A node that has not been heard by then is one that says nothing. */
  static final long HEARING_MS = 3_000;

  /** A verb that takes longer to decide is given up, well before kube-scheduler hangs up. */
  static final long DECIDE_WITHIN_MS = 3_000;

  /** At the clock, by who looks at many nodes: often enough to stop well within a millisecond. */
  static final int LOOK_EVERY = 16;

  /** A pod is known for long enough when the mean of its use has forgotten half that often. */
  private static final double HALF_LIVES_YOUNG = 3;

  static final String LATE = "the decision took too long; this is tried again";

  private static final Logger log = LoggerFactory.getLogger(Core.class);

  public final Ledger ledger;
  public final LoadCache loads;
  private final Fleet fleet;
  public final Evaluations evaluations;
  public final Packing packing = new Packing();
  public final Waiting waiting;
  public final Explanations explanations;
  public final Nominees nominees = new Nominees();
  public final ExtenderMetrics metrics;
  private final Nodes nodes;
  private final Api api;
  private final Policy policy;
  private final LongSupplier clockMs;
  private final PodChecks podChecks;
  private final FirstWake firstWake = new FirstWake();
  private Supplier<Optional<String>> gate = Optional::empty;
  private LongSupplier term = () -> 0;
  private final Set<String> unread = new LinkedHashSet<>(List.of("pods", "nodes"));
  private long syncedAtMs = -1;
  private boolean heard;

  /** By namespace and name. */
  private final Map<String, Budget> budgets = new HashMap<>();

  private boolean budgetsRead;

  /** Idle GPUs are scarce among those that the last pod could have. */
  private boolean sparing;

  public Core(
      Policy policy,
      MemoryGuard guard,
      Timing timing,
      long staleAfterMs,
      Nodes nodes,
      Api api,
      ExtenderMetrics metrics,
      LongSupplier clockMs) {
    this.ledger = new Ledger(timing);
    this.loads =
        new LoadCache(staleAfterMs, timing.youngMs() / HALF_LIVES_YOUNG, timing.newcomerMs());
    this.fleet = new Fleet(ledger, loads, timing, guard);
    this.evaluations = new Evaluations(ledger, loads, fleet);
    this.waiting = new Waiting(ledger, evaluations, fleet, metrics);
    this.explanations = new Explanations();
    this.nodes = nodes;
    this.api = api;
    this.metrics = metrics;
    this.podChecks = new PodChecks(api::pod, metrics);
    this.policy = policy;
    this.clockMs = clockMs;
  }

  public long nowMs() {
    return clockMs.getAsLong();
  }

  /**
   * An informer has shown everything once.
   *
   * @param what {@code pods} or {@code nodes}
   */
  public void read(String what) {
    unread.remove(what);
  }

  /** The informers have shown everything once. */
  public void synced() {
    syncedAtMs = nowMs();
    told(new Event.Synced());
  }

  /** What else must be so before we decide, such as leadership: a sentence while it is not. */
  public void gate(Supplier<Optional<String>> closed) {
    gate = closed;
  }

  /**
   * As {@link #gate}, for what may be lost and won again.
   *
   * @param number another one each time that it is won; both are asked on any thread
   */
  public void gate(Supplier<Optional<String>> closed, LongSupplier number) {
    gate = closed;
    term = number;
  }

  /**
   * Tells, on any thread, why what is decided now may not be carried out any more, as a sentence.
   *
   * @param withinMs so long it may wait at most
   */
  Supplier<Optional<String>> expiry(long withinMs) {
    long decidedIn = term.getAsLong();
    long untilMs = nowMs() + withinMs;
    return () -> {
      Optional<String> closed = gate.get();
      if (closed.isPresent()) {
        return closed;
      }
      if (term.getAsLong() != decidedIn) {
        return Optional.of("another may have decided since this was; this is tried again");
      }
      return nowMs() < untilMs
          ? Optional.empty()
          : Optional.of("it has waited for %d ms; this is tried again".formatted(withinMs));
    };
  }

  /**
   * How pods are read from the API server.
   *
   * @param pods by {@code namespace/name}; completes on the loop
   */
  public void readPods(Function<String, Future<Optional<PodFacts>>> pods) {
    podChecks.readBy(pods);
  }

  /** Whether another is to be asked, however much we know. */
  public boolean gated() {
    return gate.get().isPresent();
  }

  /** What keeps us from deciding, as a sentence; empty when nothing does. */
  public Optional<String> notDeciding() {
    return notReady().or(gate);
  }

  /** What we do not know yet, as a sentence; a follower knows all and decides nothing. */
  public Optional<String> notReady() {
    if (syncedAtMs < 0) {
      String what = String.join(" and ", unread);
      return Optional.of("the extender has not read the cluster's " + what + " yet");
    }
    return Optional.empty();
  }

  /**
   * Why a silent node may still be heard, as a sentence; empty when all have had their time. Nodes
   * that have reported take pods meanwhile, but nobody is rejected, nor evicted, for the others.
   */
  public Optional<String> hearing() {
    // Once is enough: a node that falls silent later is refused by itself.
    boolean read = syncedAtMs >= 0;
    heard = heard || (read && (nowMs() - syncedAtMs >= HEARING_MS || ledger.allReported()));
    return heard
        ? Optional.empty()
        : Optional.of("the extender waits up to 3 s for the GPU nodes' first reports");
  }

  /** All PodDisruptionBudgets have been shown once. */
  public void budgetsRead() {
    budgetsRead = true;
  }

  public void budgetSeen(Budget budget) {
    budgets.put(budget.key(), budget);
  }

  /**
   * @param key {@code namespace/name}
   */
  public void budgetGone(String key) {
    budgets.remove(key);
  }

  Optional<String> budgetsUnread() {
    return budgetsRead
        ? Optional.empty()
        : Optional.of("the extender has not read the cluster's PodDisruptionBudgets yet");
  }

  Budgets budgets() {
    return new Budgets(budgets.values());
  }

  /** Whether pods are packed unless they say otherwise. */
  public boolean packs() {
    return policy == Policy.PACKED;
  }

  Policy policyOf(PodFacts pod) {
    String own = pod.annotations().get(dev.tranche.api.Names.GPU_PLACEMENT);
    Policy asked = Policy.parse(own).orElse(policy);
    return asked == Policy.LOAD && sparing ? Policy.SPARING : asked;
  }

  /**
   * Whether policy {@code load} spares idle GPUs from now on. kube-scheduler takes one pod after
   * the other, so this holds until the same pod is prioritized.
   */
  void spare(boolean scarce) {
    sparing = scarce;
  }

  /**
   * Tells the Ledger, and carries out what follows.
   *
   * @return completes when all assignments that follow are acknowledged
   */
  public Future<Void> apply(Event event) {
    packing.follow(event);
    var acks = new ArrayList<Future<Void>>(1);
    for (Decision decision : ledger.apply(event, nowMs())) {
      switch (decision) {
        case Decision.Assign(String node, var assignment) ->
            acks.add(nodes.assign(node, assignment));
        case Decision.Retract(String node, String uid) -> nodes.retract(node, uid);
        case Decision.RoomGrew(String node) -> waiting.changed(node);
        case Decision.Drifted(String node, String key, var assigned, var actual) -> {
          metrics.drift();
          log.warn(
              "pod {} on node {} was assigned {} but the kubelet gave it {}",
              key,
              node,
              assigned,
              actual);
        }
        case Decision.CheckPod check -> podChecks.check(check, nowMs(), this::told);
        case Decision.Expired(String node, String key) -> {
          metrics.expired();
          log.debug("the hold of pod {} on node {} was never bound", key, node);
        }
      }
    }
    return acks.isEmpty() ? Future.succeededFuture() : Future.all(acks).mapEmpty();
  }

  /** A node's report: who holds what, and its load. */
  public void reported(Event.Reported report, Map<String, LoadReading> readings) {
    settle(apply(report));
    if (fleet.learn(report, readings)) {
      evaluations.allChanged();
    }
    News news = loads.put(report.node(), readings, () -> uuids(report.state()));
    if (news == News.EASED) {
      waiting.changed(report.node());
    }
    evaluations.measured(report.node(), news);
  }

  private static Set<String> uuids(NodeState state) {
    return state.gpus().stream().map(GpuFacts::uuid).collect(Collectors.toSet());
  }

  /** An informer's or a stream's event; nobody waits for its acknowledgements. */
  public void told(Event event) {
    switch (event) {
      case Event.PodSeen(PodFacts pod) when pod.node() != null || pod.ended() -> {
        waiting.forget(pod.uid());
        // A plain request means nothing before its node has said its R.
        pod.stampedReplicas().ifPresent(r -> packing.learn(pod, r));
      }
      case Event.PodGone(String uid, String key) -> waiting.forget(uid);
      case Event.NodeSeen(var node) -> nodes.configure(node.name(), node.config());
      case Event.NodeGone(String name) -> forget(name);
      // Its last reports may have come after the Node had gone.
      case Event.StreamLost(String name) when ledger.node(name).isEmpty() -> forget(name);
      default -> {}
    }
    settle(apply(event));
    switch (event) {
      case Event.PodSeen(PodFacts pod) -> nominees.seen(this, pod.uid());
      case Event.PodGone(String uid, String key) -> nominees.seen(this, uid);
      default -> {}
    }
  }

  private void forget(String node) {
    loads.forget(node);
    nodes.forget(node);
    evaluations.forget(node);
    packing.forget(node);
  }

  private static void settle(Future<Void> acks) {
    acks.onFailure(late -> log.debug("an assignment was not acknowledged: {}", late.getMessage()));
  }

  /** The clock's turn: what is due ends, and one rejected pod may be woken. */
  public void tick() {
    told(new Event.Tick());
    evaluations.follow();
    boolean decides = notDeciding().or(this::hearing).isEmpty();
    firstWake.tick(decides, nowMs(), this::anyNode, this::wake);
    waiting.wake(this::policyOf, this::nowMs, this::wake);
  }

  private Optional<String> anyNode() {
    return ledger.nodes().stream()
        .filter(node -> ledger.node(node).filter(NodeFacts::advertises).isPresent())
        .findFirst();
  }

  private Future<?> wake(String node) {
    metrics.wakeUp();
    return api.wake(node);
  }

  void rejected(PodFacts pod, List<Evaluation> evaluations) {
    waiting.rejected(pod, evaluations);
    api.explainRejection(pod, Figures.event(evaluations));
  }

  Evaluation evaluate(PodFacts pod, String node) {
    return evaluator(pod).of(node, NodeNames.NO_NUMBER);
  }

  /** Of one pod. */
  @FunctionalInterface
  interface Evaluator {
    /**
     * @param number of the node's name, as in {@link NodeNames}
     */
    Evaluation of(String node, int number);
  }

  /** {@link #evaluate} for many nodes at one moment; good until the Ledger is told something. */
  Evaluator evaluator(PodFacts pod) {
    long nowMs = nowMs();
    Policy chosen = policyOf(pod);
    Evaluations.Page page = evaluations.page(pod, chosen);
    String own = ledger.hold(pod.uid()).map(Hold::node).orElse("");
    if (own.isEmpty() && ledger.nominations() == 0) {
      return (node, number) -> page.of(node, number, nowMs);
    }
    return (node, number) ->
        node.equals(own) || nominatedOn(node)
            ? fleet.evaluate(pod, node, chosen, before(pod), nowMs)
            : page.of(node, number, nowMs);
  }

  /**
   * A node's GPUs as they are for this pod, as in {@link #evaluator}; it may be read on any thread.
   *
   * @param own the node with its hold; empty: none has
   */
  Fleet.Seen seen(PodFacts pod, String node, String own, long nowMs) {
    return node.equals(own) || nominatedOn(node)
        ? fleet.seen(node, new Fleet.Present(before(pod), Set.of()).without(pod), nowMs)
        : evaluations.seen(node, nowMs);
  }

  private boolean nominatedOn(String node) {
    return ledger.nominations() > 0
        && ledger.holds(node).stream().anyMatch(hold -> ledger.nominated(hold.uid()));
  }

  /** Whether some hold on the node may pass by itself before long. */
  boolean unsettled(String node) {
    long nowMs = nowMs();
    return ledger.holds(node).stream()
        .anyMatch(
            hold ->
                hold.stage() != Hold.Stage.BOUND
                    || hold.placement() == null
                    || ledger.leaving().soon(hold.uid(), nowMs));
  }

  /** As if these pods had ended. */
  Evaluation evaluateWithout(PodFacts pod, String node, Set<String> gone) {
    var present = new Fleet.Present(before(pod), gone);
    return fleet.evaluate(pod, node, policyOf(pod), present, nowMs());
  }

  /**
   * As if only what lasts counted: what stands in the way then is not transient. A pod that
   * terminates lasts when it does so for long.
   */
  Evaluation evaluateSettled(PodFacts pod, String node) {
    Set<String> leaving = ledger.leaving().soon(nowMs());
    Predicate<Hold> settled =
        hold ->
            (hold.stage() == Hold.Stage.BOUND && hold.placement() != null)
                || ledger.nominated(hold.uid());
    var present = new Fleet.Present(before(pod).and(settled), leaving);
    return fleet.evaluate(pod, node, policyOf(pod), present, nowMs());
  }

  /** A GPU that is held for a nominated pod is not held against one of higher priority. */
  private Predicate<Hold> before(PodFacts pod) {
    if (ledger.nominations() == 0) {
      return hold -> true;
    }
    int own = pod.standing().priority();
    return hold ->
        !ledger.nominated(hold.uid())
            || ledger.pod(hold.uid()).map(p -> p.standing().priority()).orElse(own) >= own;
  }
}
