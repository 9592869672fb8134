package dev.tranche.extender.ledger;

import dev.tranche.extender.ledger.Hold.Stage;
import dev.tranche.extender.placement.Placement;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Who holds what on which GPU: the one place that knows. A state machine without threads, clocks or
 * sockets: it is told {@link Event}s, answers {@link Decision}s, and everybody else adapts to it.
 * One event loop owns it.
 *
 * <p><b>A hold</b> is what one pod takes from one node. It begins tentative, on the node that the
 * scheduler is expected to choose, so that the next pod does not count on the same room. It becomes
 * binding when the scheduler asks to bind. It becomes bound when the API server has accepted, or
 * when the informer shows the pod on the node. A tentative hold is replaced when its pod is asked
 * about again and dropped when its time is up. A bound one ends with the pod's end and with nothing
 * else: phase Succeeded or Failed, or the object gone. A terminating pod still holds.
 *
 * <p><b>An accepted binding is not forgotten by the clock.</b> Watch and kubelet may both lag. The
 * API server may have accepted a binding, ours or one that a node echoes, without telling us. When
 * such a binding is due, the API server is asked ({@link Decision.CheckPod}), and the hold stays
 * until it answers.
 *
 * <p><b>The kubelet's choice is the truth.</b> A report says which replicas each container holds.
 * If that is what was assigned, the hold is confirmed; if it is something else, the hold moves
 * there and {@link Decision.Drifted} is said. A report never ends a hold: it may be older than the
 * pod. And it never counts in parts: a list made in the middle of an admission is incomplete.
 *
 * <p><b>Unknown is the safe side.</b> A pod on a node without a known GPU was bound by another
 * scheduler or before we started. It counts against every GPU of its node until its annotation, a
 * node's echo or a read-back names the GPU. Replicas that the kubelet has given to a pod that we
 * have not seen count where they are. So the sum of holds may exceed what is there; free never is
 * below 0.
 *
 * <p><b>Any order.</b> The informer and the streams race with each other and with the verbs. A pod
 * never returns from bound to pending nor from ended to running, so events that say so are late and
 * ignored. A pod that is gone leaves a tombstone for as long as its events may come late.
 * Assignments that a node echoes become tentative holds here. This is how a new leader learns of
 * binds that the old one had begun. Assignments of pods that are gone are retracted. What one
 * replica retracts and another's bind needs after all is sent again.
 *
 * <p><b>A nominated pod</b> is one that others are evicted for. Its hold is tentative, and stands
 * beside those of its victims, until it is bound, another node is nominated or its time is up.
 *
 * <p>Time is a parameter, in milliseconds of a clock that never goes back.
 */
public final class Ledger {
  private final Timing timing;
  private final Nominations nominations = new Nominations();
  private final TerminatingPods leaving;
  private final LedgerState ledgerState;
  private final ReportApplier reports;

  /** For one reader; what {@link #view} says of these nodes may differ from before. */
  public final ChangedNodes changes = new ChangedNodes();

  public Ledger(Timing timing) {
    this.timing = timing;
    this.leaving = new TerminatingPods(timing.leavingMs());
    this.ledgerState = new LedgerState(timing, changes);
    this.reports = new ReportApplier(timing, ledgerState);
  }

  public List<Decision> apply(Event event, long nowMs) {
    var step = new Transition(nowMs);
    switch (event) {
      case Event.PodSeen(PodFacts pod) -> podSeen(step, pod);
      case Event.PodGone(String uid, String key) -> podGone(step, uid, key);
      case Event.NodeSeen(NodeFacts node) -> nodeSeen(step, node);
      case Event.NodeGone(String name) -> nodeGone(step, name);
      case Event.Reported(String node, NodeState state, OptionalLong holdingsAgeMs) ->
          reports.reported(step, ledgerState.book(node), state, holdingsAgeMs);
      case Event.StreamLost(String node) -> streamLost(step, node);
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
      case Event.Synced() -> reports.synced();
      case Event.Tick() -> tick(step);
    }
    return step.done();
  }

  // --- pods ---

  private void podSeen(Transition step, PodFacts pod) {
    if (ledgerState.tombstones.containsKey(pod.uid())) {
      return;
    }
    PodFacts before = ledgerState.pods.get(pod.uid());
    boolean late =
        before != null
            && ((before.ended() && !pod.ended()) || (before.node() != null && pod.node() == null));
    if (late) {
      return;
    }
    ledgerState.pods.put(pod.uid(), pod);
    if (pod.standing().leaving()) {
      leaving.seen(pod.uid(), step.nowMs());
    }
    if (pod.ended()) {
      end(step, pod.uid(), pod.key(), pod.node(), Hold.NEVER);
    } else if (pod.node() != null) {
      nominations.remove(pod.uid());
      settle(step, pod, ledgerState.book(pod.node()), before);
    } else {
      nominated(step, before, pod);
    }
  }

  private void podGone(Transition step, String uid, String key) {
    PodFacts pod = ledgerState.pods.remove(uid);
    ledgerState.tombstones.putIfAbsent(uid, step.nowMs() + timing.tombstoneMs());
    String node = pod == null ? null : pod.node();
    end(step, uid, key, node, step.nowMs() + timing.tombstoneMs());
  }

  /**
   * What no watch has told in time. That a pod is gone or bound is so for good; that it waits says
   * something only of a binding that was due when the API server was asked.
   */
  private void podChecked(Transition step, Event.PodChecked checked) {
    String uid = checked.uid();
    NodeInfo holder = ledgerState.holders.get(uid);
    if (checked.pod() == null) {
      gone(step, uid, checked.key(), holder);
      return;
    }
    podSeen(step, checked.pod());
    Hold hold = ledgerState.hold(uid).orElse(null);
    PodFacts known = ledgerState.pods.get(uid);
    boolean waits = known == null || known.node() == null;
    if (holder != null && hold != null && waits && hold.expiresAtMs() <= checked.askedAtMs()) {
      nominations.remove(uid);
      ledgerState.giveUp(step, holder, uid);
      step.say(new Decision.Expired(hold.node(), hold.key()));
    }
  }

  /** With its hold, by which its node is known: the kubelet may go on listing it for a while. */
  private void gone(Transition step, String uid, String key, @Nullable NodeInfo holder) {
    if (holder == null) {
      podGone(step, uid, key);
      return;
    }
    boolean settled = ledgerState.settled(uid);
    NodeInfo.Ended namesake = holder.ended.get(key);
    podGone(step, uid, key);
    if (namesake != null && namesake.listedUntilMs() == Hold.NEVER) {
      // The next pod of that name was faster: it has ended too, and is still there.
      holder.ended.put(key, namesake);
    }
    if (!settled && holder.echoes(uid)) {
      step.say(new Decision.Retract(holder.name, uid));
    }
  }

  /** kube-scheduler says which node it has chosen of those that were offered, or that none is. */
  private void nominated(Transition step, @Nullable PodFacts before, PodFacts pod) {
    Nominations.Plan plan = nominations.get(pod.uid()).orElse(null);
    String node = pod.standing().nominatedNode();
    if (plan == null || ledgerState.settled(pod.uid())) {
      return;
    }
    Placement place = node == null ? null : plan.places().get(node);
    if (node != null && place != null) {
      Hold held = ledgerState.hold(pod.uid()).filter(h -> h.node().equals(node)).orElse(null);
      Hold kept = held != null ? held : reserved(step, pod, node, place);
      ledgerState.put(ledgerState.book(node), kept.until(step.nowMs() + timing.nominatedMs()));
      nominations.put(pod.uid(), new Nominations.Plan(plan.places(), node));
    } else if (node != null) {
      nominations.remove(pod.uid());
      ledgerState.drop(step, pod.uid());
    } else if (before != null && before.standing().nominatedNode() != null) {
      // Our own Error clears it too (clearNominatedNode), while the victims are still ending.
      ledgerState
          .hold(pod.uid())
          .ifPresent(
              held ->
                  ledgerState.put(ledgerState.book(held.node()), held.until(lastCall(step, held))));
    }
  }

  /** A nominated pod that kube-scheduler goes on asking about keeps its GPU, but not for ever. */
  private long lastCall(Transition step, Hold held) {
    long last = held.sinceMs() + timing.nominatedMs();
    return Math.min(last, step.nowMs() + timing.tentativeMs());
  }

  private void end(
      Transition step, String uid, String key, @Nullable String node, long listedUntilMs) {
    nominations.remove(uid);
    leaving.ended(uid);
    NodeInfo holder = ledgerState.holders.get(uid);
    NodeInfo book = holder != null ? holder : node == null ? null : ledgerState.book(node);
    if (book == null) {
      return;
    }
    step.touch(book);
    book.ended.put(key, new NodeInfo.Ended(step.nowMs(), listedUntilMs));
    // The next pod of that name must not be taken for this one.
    book.state = book.state == null ? null : book.state.without(key);
    ledgerState.drop(step, uid);
  }

  /**
   * The pod is on this node, whoever put it there.
   *
   * @param before what we knew of it
   */
  private void settle(Transition step, PodFacts pod, NodeInfo book, @Nullable PodFacts before) {
    NodeInfo holder = ledgerState.holders.get(pod.uid());
    Hold hold = holder == book ? book.holds.get(pod.uid()) : null;
    if (holder != book) {
      ledgerState.drop(step, pod.uid());
    }
    step.touch(book);
    Hold bound = bound(step, pod, book, hold);
    boolean startsNow = before != null && !before.running() && pod.running();
    if (startsNow && !bound.confirmed() && book.echoes(pod.uid())) {
      // From now on a list tells of it, whatever the node still waits for.
      bound = bound.listedFrom(step.nowMs());
    }
    ledgerState.put(book, bound);
    reports.remind(step, book, reports.readBack(step, book, bound));
  }

  private Hold bound(Transition step, PodFacts pod, NodeInfo book, @Nullable Hold hold) {
    int replicas = book.replicasPerGpu(pod.resource());
    Optional<PlacementReader.Found> said = book.said(pod);
    if (hold != null && (hold.confirmed() || hold.agrees(said))) {
      return hold.stage() == Stage.BOUND ? hold : hold.at(Stage.BOUND, step.nowMs(), Hold.NEVER);
    }
    PlacementReader.Found found = said.orElse(null);
    return new Hold(
        pod.uid(),
        pod.key(),
        book.name,
        pod.resource(),
        found == null ? null : found.placement(),
        found != null && found.exact(),
        pod.demand(replicas).peakReplicas(),
        book.toldReplicasPerGpu(pod),
        Stage.BOUND,
        false,
        since(step, pod, hold),
        listedFrom(step, pod, hold),
        Hold.NEVER);
  }

  /** A pod that ran before we first saw it may be in the node's last list. */
  private static long listedFrom(Transition step, PodFacts pod, @Nullable Hold hold) {
    if (hold != null && hold.stage() == Stage.BOUND) {
      return hold.listedFromMs();
    }
    return step.nowMs() - (hold == null && pod.running() ? NodeInfo.KUBELET_LATE_MS : 0);
  }

  /** A pod that ran before we saw it is in its GPU's mean load already. */
  private long since(Transition step, PodFacts pod, @Nullable Hold hold) {
    if (hold != null && hold.stage() == Stage.BOUND) {
      return hold.sinceMs();
    }
    return hold == null && pod.running() ? step.nowMs() - timing.newcomerMs() - 1 : step.nowMs();
  }

  // --- nodes ---

  private void nodeSeen(Transition step, NodeFacts facts) {
    NodeInfo book = ledgerState.book(facts.name());
    step.touch(book);
    book.facts = facts;
  }

  private void nodeGone(Transition step, String name) {
    NodeInfo book = ledgerState.nodes.get(name);
    if (book != null) {
      step.touch(book);
      book.facts = null;
      ledgerState.forget(book);
    }
  }

  private void streamLost(Transition step, String name) {
    NodeInfo book = ledgerState.nodes.get(name);
    if (book != null) {
      step.touch(book);
      book.live = false;
      ledgerState.forget(book);
    }
  }

  // --- verbs ---

  private void reserve(Transition step, PodFacts pod, String node, Placement placement) {
    if (ledgerState.settled(pod.uid())) {
      return;
    }
    Hold hold = reserved(step, pod, node, placement);
    if (nominations.get(pod.uid()).filter(plan -> plan.node().equals(node)).isPresent()) {
      ledgerState.put(ledgerState.book(node), hold.until(step.nowMs() + timing.nominatedMs()));
    } else {
      nominations.remove(pod.uid());
    }
  }

  private Hold reserved(Transition step, PodFacts pod, String node, Placement placement) {
    ledgerState.drop(step, pod.uid());
    NodeInfo book = ledgerState.book(node);
    step.touch(book);
    Hold hold = ledgerState.tentative(pod, book, placement, step.nowMs());
    ledgerState.put(book, hold);
    return hold;
  }

  private void release(Transition step, String uid) {
    NodeInfo book = ledgerState.holders.get(uid);
    Hold hold = ledgerState.hold(uid).orElse(null);
    if (book == null || hold == null || ledgerState.settled(uid)) {
      return;
    }
    if (nominations.has(uid)) {
      ledgerState.put(book, hold.until(Math.max(hold.expiresAtMs(), lastCall(step, hold))));
      return;
    }
    // A bind that another leader began and did not end: the node would remind us of it.
    ledgerState.giveUp(step, book, uid);
  }

  private void nominate(
      Transition step, PodFacts pod, Map<String, Placement> places, String expected) {
    Placement place = places.get(expected);
    if (ledgerState.settled(pod.uid()) || place == null) {
      return;
    }
    reserved(step, pod, expected, place);
    nominations
        .put(pod.uid(), new Nominations.Plan(places, expected))
        .ifPresent(evicted -> release(step, evicted));
  }

  private void bindStarted(Transition step, PodFacts pod, String node, Placement placement) {
    if (ledgerState.bound(pod.uid())) {
      return;
    }
    nominations.remove(pod.uid());
    ledgerState.drop(step, pod.uid());
    NodeInfo book = ledgerState.book(node);
    step.touch(book);
    Hold hold =
        ledgerState
            .tentative(pod, book, placement, step.nowMs())
            .at(Stage.BINDING, step.nowMs(), Hold.NEVER);
    ledgerState.put(book, hold);
    step.say(new Decision.Assign(node, hold.assignment()));
  }

  private void bindDone(Transition step, String uid) {
    // The informer will show it; if it never does, the pod was deleted before we looked.
    long until = step.nowMs() + timing.unknownBindMs();
    binding(uid)
        .ifPresent(
            h ->
                ledgerState.put(
                    ledgerState.book(h.node()), h.at(Stage.BOUND, step.nowMs(), until)));
  }

  private void bindFailed(Transition step, String uid) {
    if (!ledgerState.bound(uid)) {
      ledgerState.drop(step, uid);
    }
  }

  private void bindUnknown(Transition step, String uid) {
    long until = step.nowMs() + timing.unknownBindMs();
    binding(uid)
        .ifPresent(hold -> ledgerState.put(ledgerState.book(hold.node()), hold.until(until)));
  }

  private Optional<Hold> binding(String uid) {
    return ledgerState.hold(uid).filter(hold -> hold.stage() == Stage.BINDING);
  }

  // --- time ---

  private void tick(Transition step) {
    ledgerState.forgetGone(step.nowMs());
    for (NodeInfo book : List.copyOf(ledgerState.nodes.values())) {
      if (!book.ended.isEmpty()
          && book.ended.values().removeIf(ended -> ended.listedUntilMs() <= step.nowMs())) {
        book.changed();
      }
      if (!book.holds.isEmpty()) {
        List.copyOf(book.holds.values()).forEach(hold -> pass(step, book, hold));
      }
      ledgerState.forget(book);
    }
  }

  private void pass(Transition step, NodeInfo book, Hold hold) {
    if (hold.expiresAtMs() <= step.nowMs()) {
      PodFacts pod = ledgerState.pods.get(hold.uid());
      if (hold.stage() == Stage.BOUND && pod != null && pod.node() != null) {
        ledgerState.put(book, hold.until(Hold.NEVER));
        return;
      }
      if (hold.stage() != Stage.TENTATIVE || book.echoed.containsKey(hold.uid())) {
        reports.check(step, book, hold.uid(), hold.key());
        return;
      }
      nominations.remove(hold.uid());
      ledgerState.drop(step, hold.uid());
      step.say(new Decision.Expired(book.name, hold.key()));
    }
  }

  // --- what others may read ---

  public Optional<Hold> hold(String uid) {
    return ledgerState.hold(uid);
  }

  public Optional<PodFacts> pod(String uid) {
    return Optional.ofNullable(ledgerState.pods.get(uid));
  }

  public Collection<PodFacts> pods() {
    return Collections.unmodifiableCollection(ledgerState.pods.values());
  }

  /** Every node that anything is known of. */
  public Collection<String> nodes() {
    return Collections.unmodifiableCollection(ledgerState.nodes.keySet());
  }

  public Optional<NodeFacts> node(String name) {
    NodeInfo book = ledgerState.nodes.get(name);
    return book == null ? Optional.empty() : Optional.ofNullable(book.facts);
  }

  public Collection<Hold> holds(String node) {
    NodeInfo book = ledgerState.nodes.get(node);
    return book == null ? List.of() : Collections.unmodifiableCollection(book.holds.values());
  }

  /** The R that a pod without a stamp is measured with on this node. */
  public int replicasPerGpu(String node, String resource) {
    NodeInfo book = ledgerState.nodes.get(node);
    return book == null ? 1 : book.replicasPerGpu(resource);
  }

  /**
   * A node as it is, or as it would be without some holds.
   *
   * @param counted the holds that count
   */
  public NodeView view(String node, Predicate<Hold> counted, long nowMs) {
    return view(node, counted, List.of(), nowMs);
  }

  /**
   * @param more holds that are taken to be there, too
   */
  public NodeView view(String node, Predicate<Hold> counted, List<Hold> more, long nowMs) {
    NodeInfo book = ledgerState.nodes.get(node);
    return book == null
        ? new NodeView(node, NodeView.Availability.SILENT, List.of())
        : book.view(counted, more, nowMs - timing.newcomerMs());
  }

  /** The hold that a pod would get; nothing is held. Empty of a node never heard of. */
  public Optional<Hold> imagined(PodFacts pod, String node, Placement placement, long nowMs) {
    return Optional.ofNullable(ledgerState.nodes.get(node))
        .map(book -> ledgerState.tentative(pod, book, placement, nowMs));
  }

  /** Another number after each change of what {@link #view} says; 0 of a node never heard of. */
  public long version(String node) {
    NodeInfo book = ledgerState.nodes.get(node);
    return book == null ? 0 : book.version;
  }

  /** Whether the pod's GPU is held for it while others are evicted. */
  public boolean nominated(String uid) {
    return nominations.has(uid);
  }

  public int nominations() {
    return nominations.size();
  }

  /** Pods that terminate. */
  public TerminatingPods leaving() {
    return leaving;
  }

  /** Whether every node that should report has done so. */
  public boolean allReported() {
    return ledgerState.nodes.values().stream()
        .filter(b -> b.facts != null && b.facts.advertises())
        .allMatch(b -> b.state != null && b.live);
  }
}
