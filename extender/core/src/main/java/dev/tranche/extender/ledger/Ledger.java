package dev.tranche.extender.ledger;

import dev.tranche.extender.invariant.ObservedCluster;
import dev.tranche.extender.ledger.Hold.Stage;
import dev.tranche.extender.ledger.Nominations.Plan;
import dev.tranche.extender.placement.Placement;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.LongUnaryOperator;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The record of all holds: which pod holds how many replicas of which GPU. It is a state machine
 * without threads, clocks or sockets. It takes {@link Event}s and returns {@link Decision}s, and
 * all other parts follow it. One event loop owns it.
 *
 * <p><b>A hold</b> is what one pod takes from one node. It begins tentative, on the node that
 * kube-scheduler will probably choose, so that the next pod does not count on the same replicas.
 * Its stage becomes BINDING when kube-scheduler calls bind. It becomes bound when the API server
 * has accepted the binding, or when the informer shows the pod on the node. A tentative hold is
 * replaced when its pod is filtered again, and dropped when it expires. A bound hold ends only with
 * its pod: in phase Succeeded or Failed, or when the object is gone. A terminating pod keeps its
 * hold, unless it will never start ({@link UnstartedPods}).
 *
 * <p><b>No timeout drops an accepted binding.</b> The watch and the kubelet may both lag. The API
 * server may have accepted a binding without our knowledge, be it ours or one that a node echoes.
 * When such a binding is due, the Ledger asks the API server ({@link Decision.CheckPod}). The hold
 * stays until the answer comes. If the pod is bound, the Ledger asks again later, until a watch
 * shows the pod: a list that a watch begins anew with says nothing of pods that it never showed.
 *
 * <p><b>The kubelet's choice is authoritative.</b> A report lists the replicas that each container
 * holds. If they match the assignment, the hold is confirmed. If not, the hold moves to those
 * replicas, and {@link Decision.Drifted} is returned. A report never ends a hold, since it may be
 * older than the pod. An incomplete list of a pod's containers is ignored, since it may come from
 * the middle of an admission.
 *
 * <p><b>In doubt, a GPU is not free.</b> A pod on a node without a known GPU was bound by another
 * scheduler or before this process started. It counts against every GPU of its node until its
 * annotation, a node's echo or a read-back names the GPU. Replicas that the kubelet has given to a
 * pod that no informer has shown count on their GPU. The sum of holds may therefore exceed what
 * exists; free replicas never go below 0.
 *
 * <p><b>Events come in any order.</b> The informer and the streams race with each other and with
 * the verbs. A pod never returns from bound to pending or from ended to running, so events that say
 * so are late and ignored. A deleted pod leaves a tombstone for as long as its events may come
 * late. Assignments that a node echoes become tentative holds here. This is how a new leader learns
 * of bindings that the old leader had begun. Assignments of deleted pods are retracted. If one
 * extender replica retracts an assignment that another's bind needs, it is sent again.
 *
 * <p><b>A nominated pod</b> is one that other pods are evicted for. Its hold is tentative and
 * counts beside those of its victims. It lasts until the pod is bound, another node is nominated or
 * the hold expires.
 *
 * <p>Time is a parameter, in milliseconds of a monotonic clock.
 */
public final class Ledger {
  private final Timing timing;
  private final Nominations nominations;
  public final TerminatingPods terminatingPods;
  private final UnstartedPods unstartedPods;
  private final LedgerState ledgerState;
  private final ReportApplier reports;

  /** Which nodes acknowledge assignments. */
  public final Acknowledgements acknowledgements;

  private final HoldExpiry expiry;

  /** The nodes whose {@link #view} may have changed; for a single reader. */
  public final ChangedNodes changes = new ChangedNodes();

  /**
   * @param toClock converts the API server's times to those of this Ledger's clock
   */
  public Ledger(Timing timing, LongUnaryOperator toClock) {
    this.timing = timing;
    this.nominations = new Nominations(timing);
    this.terminatingPods =
        new TerminatingPods(timing.terminatingMs(), timing.nominatedMs(), toClock);
    this.ledgerState = new LedgerState(timing, changes);
    this.unstartedPods = new UnstartedPods(ledgerState, terminatingPods, toClock);
    this.reports = new ReportApplier(timing, ledgerState, unstartedPods);
    this.acknowledgements = new Acknowledgements(ledgerState);
    this.expiry =
        new HoldExpiry(ledgerState, nominations, terminatingPods, reports, acknowledgements);
  }

  public List<Decision> apply(Event event, long nowMs) {
    var step = new Transition(nowMs);
    switch (event) {
      case Event.PodSeen(PodFacts pod) -> podSeen(step, pod, Hold.NEVER);
      case Event.PodGone(String uid, String key) -> podGone(step, uid, key);
      case Event.NodeSeen(NodeFacts node) -> nodeSeen(step, node);
      case Event.NodeGone(String name) -> lost(step, name, entry -> entry.facts = null);
      case Event.Reported(String node, NodeState state, OptionalLong holdingsAgeMs) ->
          reports.reported(step, ledgerState.entry(node), state, holdingsAgeMs);
      case Event.StreamLost(String node) -> lost(step, node, entry -> entry.live = false);
      case Event.Reserve(PodFacts pod, String node, Placement p) -> reserve(step, pod, node, p);
      case Event.Release(String uid) -> release(step, uid);
      case Event.Nominate(PodFacts pod, var places, String expected) ->
          nominate(step, pod, places, expected);
      case Event.BindStarted(PodFacts pod, String node, Placement p) ->
          bindStarted(step, pod, node, p);
      case Event.BindDone(String uid) -> bindDone(step, uid);
      case Event.BindFailed(String uid) -> bindFailed(step, uid);
      case Event.BindUnknown(String uid) -> bindUnknown(step, uid);
      case Event.PodChecked checked -> podChecked(step, checked);
      case Event.Acknowledged(String node) -> acknowledgements.acknowledged(step, node);
      case Event.Unacknowledged(String node, long sentAtMs) ->
          acknowledgements.failed(step, node, sentAtMs);
      case Event.Synced() -> reports.synced();
      case Event.Tick() -> expiry.tick(step);
    }
    return step.done();
  }

  // --- pods ---

  /**
   * @param untilMs until when this is relied upon; {@code NEVER} if a watch will show the pod's end
   */
  private void podSeen(Transition step, PodFacts pod, long untilMs) {
    if (ledgerState.isGone(pod.uid())) {
      return;
    }
    PodFacts before = ledgerState.pods.get(pod.uid());
    boolean late = before != null && pod.isOlderThan(before);
    if (late || unstartedPods.letGo(step, pod)) {
      return;
    }
    boolean holds = nominations.has(pod.uid()) || ledgerState.holdsOfKnownNode(pod.uid());
    boolean kept = ledgerState.hasRoom(pod) && ledgerState.pods.put(pod, holds);
    if (!kept) {
      nominations.remove(pod.uid());
      terminatingPods.remove(pod.uid());
      ledgerState.leaveOut(step, pod);
    } else if (pod.preemption().terminating()) {
      terminatingPods.add(pod, step.nowMs);
    }
    if (pod.ended()) {
      long listedUntilMs = kept ? untilMs : step.nowMs + timing.tombstoneMs();
      end(step, pod.uid(), pod.key(), pod.node(), listedUntilMs);
    } else if (kept && pod.node() != null) {
      nominations.remove(pod.uid());
      recordBound(step, pod, ledgerState.entry(pod.node()), before, untilMs);
    } else if (kept) {
      applyNomination(step, before, pod);
    }
  }

  private void podGone(Transition step, String uid, String key) {
    PodFacts pod = ledgerState.pods.remove(uid);
    NodeEntry holder = ledgerState.holders.get(uid);
    if (holder != null) {
      holder.started(uid);
    }
    String node = holder != null ? holder.name : pod == null ? null : pod.node();
    ledgerState.ignore(uid, step.nowMs);
    end(step, uid, key, node, step.nowMs + timing.tombstoneMs());
  }

  /**
   * Applies the API server's answer about a pod that no watch has shown in time. That the pod is
   * gone or bound is final. That it is pending counts only against a binding that was due when the
   * API server was asked. What would be kept until a watch shows the pod's end is left to the
   * watch.
   */
  private void podChecked(Transition step, Event.PodChecked checked) {
    String uid = checked.uid();
    NodeEntry holder = ledgerState.holders.get(uid);
    PodFacts pod = checked.pod();
    if (pod == null) {
      gone(step, uid, checked.key(), holder);
      return;
    }
    PodFacts known = ledgerState.pods.get(uid);
    boolean ended = known != null && known.ended();
    if (!ended && (pod.ended() || pod.node() != null)) {
      podSeen(step, pod, step.nowMs + timing.unknownBindMs());
      known = ledgerState.pods.get(uid);
    }
    Hold hold = ledgerState.hold(uid).orElse(null);
    boolean waits =
        (known == null || known.node() == null)
            && (hold == null || !hold.node().equals(pod.node()));
    if (holder != null && hold != null && waits && hold.expiresAtMs() <= checked.requestedAtMs()) {
      nominations.remove(uid);
      ledgerState.giveUp(step, holder, uid);
      step.emit(new Decision.Expired(hold.node(), hold.key()));
    }
  }

  /**
   * Handles a pod that is gone. Its hold tells its node, whose kubelet may list the pod a while
   * longer.
   */
  private void gone(Transition step, String uid, String key, @Nullable NodeEntry holder) {
    if (holder == null) {
      podGone(step, uid, key);
      return;
    }
    boolean boundOrBinding = ledgerState.boundOrBinding(uid);
    NodeEntry.Ended namesake = holder.ended.get(key);
    podGone(step, uid, key);
    if (namesake != null && namesake.listedUntilMs() == Hold.NEVER) {
      // A later pod of that name has also ended, and its object still exists: its entry stays.
      holder.ended.put(key, namesake);
    }
    if (!boundOrBinding && holder.echoes(uid)) {
      step.emit(new Decision.Retract(holder.name, uid));
    }
  }

  /** Applies kube-scheduler's nomination of an offered node, of another one, or of none. */
  private void applyNomination(Transition step, @Nullable PodFacts before, PodFacts pod) {
    Plan plan = nominations.current(pod.uid(), step.nowMs).orElse(null);
    String node = pod.preemption().nominatedNode();
    if (plan == null || ledgerState.boundOrBinding(pod.uid())) {
      return;
    }
    Placement place = node == null ? null : plan.places().get(node);
    if (node != null && place != null) {
      Hold held = ledgerState.hold(pod.uid()).filter(h -> h.node().equals(node)).orElse(null);
      Hold kept = held != null ? held : reserved(step, pod, node, place);
      long sinceMs = node.equals(plan.node()) ? plan.sinceMs() : step.nowMs;
      var nominated = new Plan(plan.places(), node, sinceMs);
      ledgerState.put(kept.until(nominations.endMs(nominated)));
      nominations.put(pod.uid(), nominated);
    } else if (node != null) {
      nominations.remove(pod.uid());
      ledgerState.drop(step, pod.uid());
    } else if (before != null && before.preemption().nominatedNode() != null) {
      // An error that we return clears the nomination, too (clearNominatedNode), while the victims
      // are still terminating.
      long untilMs = nominations.expiryMs(plan, step.nowMs);
      ledgerState.hold(pod.uid()).ifPresent(held -> ledgerState.put(held.until(untilMs)));
    }
  }

  private void end(
      Transition step, String uid, String key, @Nullable String node, long listedUntilMs) {
    nominations.remove(uid);
    terminatingPods.remove(uid);
    NodeEntry holder = ledgerState.holders.get(uid);
    NodeEntry entry = holder != null ? holder : node == null ? null : ledgerState.entry(node);
    if (entry == null) {
      return;
    }
    step.beforeChange(entry);
    entry.ended.put(key, new NodeEntry.Ended(step.nowMs, listedUntilMs));
    // The next pod of that name must not be taken for this one.
    entry.state = entry.state == null ? null : entry.state.without(key);
    ledgerState.drop(step, uid);
    if (listedUntilMs != Hold.NEVER && entry.neverKnown()) {
      entry.forgetDeleted(key);
      ledgerState.forget(entry);
    }
  }

  /**
   * Records that the pod is on this node, whoever bound it.
   *
   * @param before what was known of the pod before
   */
  private void recordBound(
      Transition step, PodFacts pod, NodeEntry entry, @Nullable PodFacts before, long untilMs) {
    NodeEntry holder = ledgerState.holders.get(pod.uid());
    Hold hold = holder == entry ? entry.holds.get(pod.uid()) : null;
    if (holder != entry) {
      ledgerState.drop(step, pod.uid());
    }
    step.beforeChange(entry);
    Hold bound = ledgerState.bound(pod, entry, hold, step.nowMs, untilMs);
    boolean startsNow = before != null && !before.running() && pod.running();
    if (startsNow && !bound.confirmed() && entry.echoes(pod.uid())) {
      // Kubelet lists from now on show this pod, even while the node still keeps its assignment.
      bound = bound.withListsCountFromMs(step.nowMs);
    }
    ledgerState.put(bound);
    reports.resendIfDue(step, entry, reports.readBack(step, entry, bound));
  }

  // --- nodes ---

  private void nodeSeen(Transition step, NodeFacts facts) {
    NodeEntry entry = ledgerState.entry(facts.name());
    step.beforeChange(entry);
    entry.facts = facts;
    ledgerState.pods.nodeKnown(entry.holds.keySet());
  }

  private void lost(Transition step, String name, Consumer<NodeEntry> what) {
    NodeEntry entry = ledgerState.nodes.get(name);
    if (entry != null) {
      step.beforeChange(entry);
      what.accept(entry);
      ledgerState.forget(entry);
    }
  }

  // --- verbs ---

  private void reserve(Transition step, PodFacts pod, String node, Placement placement) {
    if (isPlacedOrGone(pod)) {
      return;
    }
    Hold hold = reserved(step, pod, node, placement);
    Plan plan = nominations.current(pod.uid(), step.nowMs).orElse(null);
    if (plan != null && plan.node().equals(node)) {
      // A pod that no watch shows may be gone, and then nothing else ends its hold.
      boolean shown = ledgerState.pods.get(pod.uid()) != null;
      long untilMs = shown ? nominations.endMs(plan) : nominations.expiryMs(plan, step.nowMs);
      ledgerState.put(hold.until(untilMs));
    } else {
      nominations.remove(pod.uid());
    }
  }

  /** kube-scheduler may not have seen yet that the pod is bound, or deleted. */
  private boolean isPlacedOrGone(PodFacts pod) {
    return ledgerState.boundOrBinding(pod.uid()) || ledgerState.isGone(pod.uid());
  }

  private Hold reserved(Transition step, PodFacts pod, String node, Placement placement) {
    ledgerState.drop(step, pod.uid());
    NodeEntry entry = ledgerState.entry(node);
    step.beforeChange(entry);
    Hold hold = ledgerState.tentative(pod, entry, placement, step.nowMs);
    ledgerState.put(hold);
    return hold;
  }

  private void release(Transition step, String uid) {
    NodeEntry entry = ledgerState.holders.get(uid);
    Hold hold = ledgerState.hold(uid).orElse(null);
    if (entry == null || hold == null || ledgerState.boundOrBinding(uid)) {
      return;
    }
    Plan plan = nominations.current(uid, step.nowMs).orElse(null);
    if (plan != null) {
      long expiryMs = nominations.expiryMs(plan, step.nowMs);
      ledgerState.put(hold.until(Math.max(hold.expiresAtMs(), expiryMs)));
      return;
    }
    // Another leader may have begun a bind and not ended it: the node would go on echoing it.
    ledgerState.giveUp(step, entry, uid);
  }

  private void nominate(
      Transition step, PodFacts pod, Map<String, Placement> places, String expected) {
    Placement place = places.get(expected);
    if (isPlacedOrGone(pod) || place == null) {
      return;
    }
    long sinceMs =
        nominations
            .current(pod.uid(), step.nowMs)
            .filter(plan -> plan.node().equals(expected))
            .map(Plan::sinceMs)
            .orElse(step.nowMs);
    var plan = new Plan(places, expected, sinceMs);
    Hold hold = reserved(step, pod, expected, place);
    ledgerState.put(hold.until(nominations.expiryMs(plan, step.nowMs)));
    nominations.put(pod.uid(), plan).ifPresent(evicted -> release(step, evicted));
  }

  private void bindStarted(Transition step, PodFacts pod, String node, Placement placement) {
    if (ledgerState.bound(pod.uid())) {
      return;
    }
    nominations.remove(pod.uid());
    Hold hold = reserved(step, pod, node, placement).at(Stage.BINDING, step.nowMs, Hold.NEVER);
    ledgerState.put(hold);
    step.emit(new Decision.Assign(node, hold.assignment(pod.memoryLimits())));
  }

  private void bindDone(Transition step, String uid) {
    // The informer will show it; if it never does, the pod was deleted before we looked.
    long until = step.nowMs + timing.unknownBindMs();
    binding(uid).ifPresent(hold -> ledgerState.put(hold.at(Stage.BOUND, step.nowMs, until)));
  }

  private void bindFailed(Transition step, String uid) {
    if (!ledgerState.bound(uid)) {
      ledgerState.drop(step, uid);
    }
  }

  private void bindUnknown(Transition step, String uid) {
    long until = step.nowMs + timing.unknownBindMs();
    binding(uid).ifPresent(hold -> ledgerState.put(hold.until(until)));
  }

  private Optional<Hold> binding(String uid) {
    return ledgerState.hold(uid).filter(hold -> hold.stage() == Stage.BINDING);
  }

  // --- what others may read ---

  public Optional<Hold> hold(String uid) {
    return ledgerState.hold(uid);
  }

  public Optional<PodFacts> pod(String uid) {
    return Optional.ofNullable(ledgerState.pods.get(uid));
  }

  /** Returns how many pods were not kept; read on any thread. */
  public long droppedPods() {
    return ledgerState.pods.dropped();
  }

  public Collection<PodFacts> pods() {
    return Collections.unmodifiableCollection(ledgerState.pods.values());
  }

  /** Returns whether a pod is on no node yet. */
  public boolean podsPending() {
    return ledgerState.pods.anyPending();
  }

  /** Returns every node of which anything is known. */
  public Collection<String> nodes() {
    return Collections.unmodifiableCollection(ledgerState.nodes.keySet());
  }

  public Optional<NodeFacts> node(String name) {
    return Optional.ofNullable(ledgerState.read(name).facts);
  }

  public Collection<Hold> holds(String node) {
    return Collections.unmodifiableCollection(ledgerState.read(node).holds.values());
  }

  /** Returns whether some hold of a node is temporary; time alone must make none so. */
  public boolean hasTemporaryHolds(String node, Predicate<Hold> temporary) {
    return ledgerState.read(node).hasTemporaryHolds(temporary);
  }

  /** Returns whether {@link #hasTemporaryHolds} has found none since the node's last change. */
  public boolean onlyLastingHolds(String node) {
    return ledgerState.read(node).onlyLastingHolds();
  }

  /** Returns the GPUs of a node as last reported, whether they can take pods or not. */
  public List<GpuFacts> gpus(String node) {
    return ledgerState.read(node).gpus();
  }

  /** Returns the R of this node, which applies to a pod that does not carry an R itself. */
  public int replicasPerGpu(String node, String resource) {
    return ledgerState.read(node).replicasPerGpu(resource);
  }

  /** Returns the R that a hold's replicas on a GPU of its node are counted in. */
  public int countedIn(Hold hold, GpuFacts gpu) {
    return ledgerState.read(hold.node()).countedIn(hold, gpu);
  }

  /**
   * Returns the node as it is, or as it would be without some holds.
   *
   * @param counted selects the holds that count
   * @param more additional holds that are assumed
   */
  public NodeView view(String node, Predicate<Hold> counted, long nowMs, Hold... more) {
    return ledgerState.read(node).view(counted, List.of(more), nowMs - timing.newcomerMs());
  }

  /** Returns the hold that the pod would get, without recording it; empty for an unknown node. */
  public Optional<Hold> hypotheticalHold(
      PodFacts pod, String node, Placement placement, long nowMs) {
    return Optional.ofNullable(ledgerState.nodes.get(node))
        .map(entry -> ledgerState.tentative(pod, entry, placement, nowMs));
  }

  /** Returns a number that changes with each change of {@link #view}; 0 for an unknown node. */
  public long version(String node) {
    return ledgerState.read(node).version;
  }

  /** Returns whether a GPU is held for the pod while other pods are evicted. */
  public boolean nominated(String uid) {
    return nominations.has(uid);
  }

  /**
   * Returns the hold of a pod that others are evicted for, while some of those are still ending.
   */
  public Optional<Hold> awaitedHold(String uid, long nowMs) {
    return hold(uid)
        .filter(held -> nominations.has(uid) && held.isTentative())
        .filter(held -> terminatingPods.haveGpusOf(held, holds(held.node()), nowMs));
  }

  /** Returns whether the pod has been deleted a moment ago. */
  public boolean gone(String uid) {
    return ledgerState.isGone(uid);
  }

  /** Returns whether a pod of the node has ended since this time, which is not long ago. */
  public boolean endedSince(String node, long sinceMs) {
    return ledgerState.read(node).ended.values().stream().anyMatch(e -> e.atMs() >= sinceMs);
  }

  /** Returns a node with its pods as the invariants need them; empty for an unknown node. */
  public ObservedCluster observe(String node) {
    return NodeObserver.observe(ledgerState.read(node), ledgerState.pods);
  }

  /** Returns those of some pods that are on a node, and that nothing is recorded of. */
  public ObservedCluster withoutHold(Collection<PodFacts> some) {
    List<ObservedCluster.Pod> without =
        some.stream()
            .filter(pod -> pod.node() != null && !pod.ended())
            .filter(pod -> ledgerState.hold(pod.uid()).isEmpty())
            .map(NodeObserver::withoutHold)
            .toList();
    return new ObservedCluster(without, List.of());
  }

  /** Returns the uids of the pods that a GPU is held for while others are evicted. */
  public Set<String> nominatedPods() {
    return Collections.unmodifiableSet(nominations.uids());
  }

  /** Returns whether every node that should report has done so. */
  public boolean allReported() {
    return ledgerState.nodes.values().stream()
        .filter(b -> b.facts != null && b.facts.advertises())
        .allMatch(b -> b.state != null && b.live);
  }
}
