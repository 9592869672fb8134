package dev.tranche.extender.state;

import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.ledger.Assignment;
import dev.tranche.extender.ledger.Decision;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.load.LoadCache.LoadChange;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.process.log.LineLimiter;
import io.vertx.core.Future;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The state that the verbs share: whether they may decide, and the pods that wait or are nominated.
 * It is the only writer of all that is known: it applies events to the Ledger, carries out the
 * decisions that follow, and updates derived state. Confined to the loop, except where a part says
 * otherwise.
 */
public final class SchedulingState {
  private static final Logger LOG = LoggerFactory.getLogger(SchedulingState.class);

  public final ReadinessGate readiness;
  public final UnschedulablePods waiting;
  public final NominatedPods nominees;
  public final PodWaker waker;

  private final SchedulingCore core;
  private final NodePlugins nodes;
  private final ExtenderMetrics metrics;
  private final PodChecks podChecks;
  private final LineLimiter driftLog = new LineLimiter(LOG, "drift on node");

  public SchedulingState(
      SchedulingCore core, NodePlugins nodes, ApiServer api, ExtenderMetrics metrics) {
    this.readiness = new ReadinessGate(core.ledger::allReported, core.clockMs);
    this.waiting = new UnschedulablePods(core, metrics);
    this.nominees = new NominatedPods(core, this::apply);
    this.waker = new PodWaker(core, readiness, waiting, api, metrics);
    this.core = core;
    this.nodes = nodes;
    this.metrics = metrics;
    this.podChecks = new PodChecks(api::checkedPod, core.clockMs, metrics);
  }

  /** Applies an event of an informer, a stream or a verb, without waiting for acknowledgements. */
  public void apply(Event event) {
    switch (event) {
      case Event.PodSeen(PodFacts pod) -> seen(pod);
      case Event.PodGone(String uid, String key) -> waiting.forget(uid);
      case Event.PodChecked checked when checked.pod() != null -> seen(checked.pod());
      case Event.PodChecked checked -> waiting.forget(checked.uid());
      case Event.NodeSeen(var node) -> nodes.configure(node.name(), node.config());
      case Event.NodeGone(String name) -> forget(name);
      // The node's last reports may have come after the Node was deleted.
      case Event.StreamLost(String name) when core.ledger.node(name).isEmpty() -> forget(name);
      default -> {}
    }
    logFailure(carryOut(event));
    switch (event) {
      case Event.PodSeen(PodFacts pod) -> nominees.update(pod.uid());
      case Event.PodGone(String uid, String key) -> {
        nominees.update(uid);
        core.explanations.podGone(uid, key);
      }
      case Event.PodChecked checked -> nominees.update(checked.uid());
      // Filter decides about the pod again.
      case Event.Release(String uid) -> waiting.forget(uid);
      default -> {}
    }
  }

  /** Applies what follows, beside the Ledger, from a pod that is bound or has ended. */
  private void seen(PodFacts pod) {
    if (pod.node() != null || pod.ended()) {
      waiting.forget(pod.uid());
      // The size of a plain request is not known before its node has reported R.
      pod.stampedReplicas().ifPresent(r -> core.packing.learn(pod, r));
    }
  }

  /** Completes when the node has acknowledged the assignment. */
  public Future<Void> assign(Event.BindStarted started) {
    return carryOut(started);
  }

  /** Applies a node's report: its holdings and its load. */
  public void reported(Event.Reported report, Map<String, LoadReading> readings) {
    logFailure(carryOut(report));
    core.fits.learn(report, readings);
    LoadChange change = core.loads.put(report.node(), readings, () -> uuids(report.state()));
    if (change == LoadChange.MEMORY_FREED) {
      waiting.changed(report.node());
    }
    core.fits.measured(report.node(), change);
  }

  /** Applies the time that has passed: what is due ends. */
  public void tick() {
    apply(new Event.Tick());
    core.fits.markChangedNodes();
  }

  private Future<Void> carryOut(Event event) {
    core.packing.apply(event);
    var acks = new ArrayList<Future<Void>>(1);
    for (Decision decision : core.ledger.apply(event, core.nowMs())) {
      try {
        carryOut(decision, acks);
      } catch (RuntimeException bug) {
        metrics.failures.nodeFailed(decision.node(), bug);
        acks.add(Future.failedFuture(bug));
      }
    }
    return acks.isEmpty() ? Future.succeededFuture() : Future.all(acks).mapEmpty();
  }

  private void carryOut(Decision decision, List<Future<Void>> acks) {
    switch (decision) {
      case Decision.Assign(String node, var assignment) -> acks.add(assign(node, assignment));
      case Decision.Retract(String node, String uid) -> nodes.retract(node, uid);
      case Decision.CapacityGrew(String node) -> waiting.changed(node);
      case Decision.Drifted(String node, String key, var assigned, var actual) -> {
        metrics.drifts.increment();
        if (driftLog.tryAcquire(node)) {
          LOG.warn(
              "pod {} on node {} was assigned {} but the kubelet gave it {}",
              key,
              node,
              assigned,
              actual);
        }
      }
      case Decision.CheckPod check -> podChecks.check(check, core.nowMs(), this::apply);
      case Decision.BackedOff(String node, long forMs) ->
          LOG.warn(
              "node {} does not acknowledge assignments; it gets no pods for {} s",
              node,
              forMs / 1_000);
      case Decision.Failed(String node, Throwable bug) -> metrics.failures.nodeFailed(node, bug);
      case Decision.Expired(String node, String key) ->
          LOG.debug("the hold of pod {} on node {} was never bound", key, node);
    }
  }

  private Future<Void> assign(String node, Assignment assignment) {
    long sentAtMs = core.nowMs();
    return nodes
        .assign(node, assignment)
        .onSuccess(acknowledged -> apply(new Event.Acknowledged(node)))
        .onFailure(late -> apply(new Event.Unacknowledged(node, sentAtMs)));
  }

  private static void logFailure(Future<Void> acks) {
    acks.onFailure(late -> LOG.debug("an assignment was not acknowledged: {}", late.getMessage()));
  }

  private void forget(String node) {
    core.loads.forget(node);
    nodes.forget(node);
    core.fits.forget(node);
    core.packing.forget(node);
  }

  private static Set<String> uuids(NodeState state) {
    return state.gpus().stream().map(GpuFacts::uuid).collect(Collectors.toSet());
  }
}
