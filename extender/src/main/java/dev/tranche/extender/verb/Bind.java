package dev.tranche.extender.verb;

import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.placement.Placer;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.snapshot.NodeFit;
import dev.tranche.extender.state.ApiServer;
import dev.tranche.extender.state.ApiServer.BindOutcome;
import dev.tranche.extender.state.SchedulingState;
import io.vertx.core.Future;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Binds a pod to a node: makes the final choice of its GPUs, sends the assignment to the node, then
 * posts the Binding to the API server.
 */
public final class Bind {
  /** The most binds that run at once. Further ones are refused, and kube-scheduler retries them. */
  static final int IN_FLIGHT_MAX = 512;

  /**
   * The longest time from the decision until the Binding is sent. kube-scheduler waits for 10 s, by
   * our chart.
   */
  static final long SEND_WITHIN_MS = 5_000;

  private static final Logger LOG = LoggerFactory.getLogger(Bind.class);

  private final SchedulingCore core;
  private final SchedulingState state;
  private final ApiServer api;
  private final ExtenderMetrics metrics;
  private final Map<String, Flight> inFlight = new HashMap<>();

  public Bind(SchedulingCore core, SchedulingState state, ApiServer api, ExtenderMetrics metrics) {
    this.core = core;
    this.state = state;
    this.api = api;
    this.metrics = metrics;
    metrics.gauge("tranche.extender.binds.in.flight", "Binds in progress.", inFlight::size);
  }

  private record Flight(String node, Future<Optional<String>> result) {}

  /**
   * Returns empty if the pod is bound, else the reason why not. A second call for a bind that is
   * under way returns the same future.
   */
  public Future<Optional<String>> bind(String key, String uid, String node) {
    Flight flying = inFlight.get(uid);
    if (flying != null) {
      return flying.node().equals(node)
          ? flying.result()
          : error("pod " + key + " is being bound to node " + flying.node());
    }
    Optional<Hold> bound = core.ledger.hold(uid).filter(Hold::isBound);
    if (bound.isPresent()) {
      return bound(key, bound.get().node(), node);
    }
    Optional<String> notReady = state.readiness.notDeciding();
    if (notReady.isPresent()) {
      return error(notReady.get());
    }
    if (inFlight.size() >= IN_FLIGHT_MAX) {
      return error(IN_FLIGHT_MAX + " binds are in progress; the pod will be retried");
    }
    Optional<PodFacts> known = core.ledger.pod(uid);
    Future<Optional<String>> result =
        known.map(pod -> start(pod, key, node)).orElseGet(() -> readPodThenStart(key, uid, node));
    inFlight.put(uid, new Flight(node, result));
    result.onComplete(done -> inFlight.remove(uid));
    return result;
  }

  private static Future<Optional<String>> bound(String key, String on, String node) {
    return on.equals(node)
        ? Future.succeededFuture(Optional.empty())
        : error("pod " + key + " is bound to node " + on);
  }

  /**
   * Reads a pod that the informer hasn't shown yet. The pod that came with the filter request isn't
   * used, since it's not the API server's own object.
   */
  private Future<Optional<String>> readPodThenStart(String key, String uid, String node) {
    return api.pod(key)
        .compose(
            found ->
                found
                    .filter(pod -> pod.uid().equals(uid))
                    .map(pod -> startUnlessBound(pod, key, node))
                    .orElseGet(() -> gone(key, uid)),
            unread -> error("pod " + key + " could not be read: " + unread.getMessage()));
  }

  private Future<Optional<String>> startUnlessBound(PodFacts pod, String key, String node) {
    String on = pod.node();
    if (on == null) {
      return start(pod, key, node);
    }
    state.apply(Event.PodChecked.forBind(pod));
    return bound(key, on, node);
  }

  /**
   * kube-scheduler has not seen yet that the pod is deleted, and no watch may ever show it here.
   */
  private Future<Optional<String>> gone(String key, String uid) {
    state.apply(Event.PodChecked.goneForBind(uid, key));
    return error("there is no pod " + key + " of uid " + uid);
  }

  private Future<Optional<String>> start(PodFacts pod, String key, String node) {
    if (!pod.key().equals(key)) {
      return error(
          "pod %s was to be bound, but the pod of that uid, %s, is %s"
              .formatted(key, pod.uid(), pod.key()));
    }
    if (pod.servedByOthers()) {
      return bindElsewhere(pod, node);
    }
    NodeFit now = core.evaluator.evaluate(pod, node);
    if (now.refusedFor(Reason.NOT_ACKNOWLEDGING)) {
      return error(
          "node %s does not acknowledge assignments and temporarily gets no pods; pod %s will be retried"
              .formatted(node, key));
    }
    Optional<Placement> placement = decide(pod, now);
    if (placement.isEmpty()) {
      return refusedForSpace(pod, now);
    }
    Placement place = placement.get();
    Supplier<Optional<String>> expiry = state.readiness.expiry(SEND_WITHIN_MS);
    return sendAssignment(pod, node, place)
        .compose(
            acknowledged ->
                state
                    .readiness
                    .notDeciding()
                    .map(why -> leadershipLost(pod, why))
                    .orElseGet(() -> post(pod, now, place, expiry)),
            late -> Future.succeededFuture(unacknowledged(pod, node, late)))
        // A hold of a bind under way never expires by itself.
        .recover(bug -> Future.succeededFuture(failed(pod, now, place, bug)));
  }

  /** Posts the Binding alone: kube-scheduler has allocated the GPUs, and the Ledger has no part. */
  private Future<Optional<String>> bindElsewhere(PodFacts pod, String node) {
    if (PodsOfOthers.mayCountReplicas(core.ledger, node)) {
      return error(
          "node %s has a device plugin, and pod %s counts GPUs of nodes that others serve"
              .formatted(node, pod.key()));
    }
    return api.bind(pod, node, Map.of(), state.readiness.expiry(SEND_WITHIN_MS))
        .map(outcome -> notBound(pod, node, outcome));
  }

  /** Returns why the pod is not bound to that node; empty if it is. */
  private static Optional<String> notBound(PodFacts pod, String node, BindOutcome outcome) {
    return switch (outcome) {
      case BindOutcome.Bound() -> Optional.empty();
      case BindOutcome.BoundElsewhere(String other) ->
          Optional.of("pod " + pod.key() + " is bound to node " + other);
      case BindOutcome.Refused(String why) ->
          Optional.of("pod " + pod.key() + " was not bound to node " + node + ": " + why);
      case BindOutcome.Unknown(String why) ->
          Optional.of(
              "whether pod " + pod.key() + " was bound to node " + node + " is unknown: " + why);
    };
  }

  private Future<Void> sendAssignment(PodFacts pod, String node, Placement place) {
    try {
      return state.assign(new Event.BindStarted(pod, node, place));
    } catch (Throwable bug) {
      return Future.failedFuture(bug);
    }
  }

  /** Handles an exception or error in our own code. The Binding may already have been sent. */
  private Optional<String> failed(PodFacts pod, NodeFit now, Placement place, Throwable bug) {
    LOG.error("bind of pod {} failed", pod.key(), bug);
    return applyOutcome(pod, now, place, new BindOutcome.Unknown(bug.toString()));
  }

  /**
   * Another extender replica may have chosen this node, and the node may not have reported here
   * yet. Such a node need not be full.
   */
  private Future<Optional<String>> refusedForSpace(PodFacts pod, NodeFit now) {
    Optional<String> awaiting =
        state.readiness.awaitingFirstReports().filter(why -> now.refusedFor(Reason.NO_REPORT));
    if (awaiting.isPresent()) {
      return error(awaiting.get());
    }
    metrics.bindsWithoutRoom.increment();
    return error("node " + now.node() + " no longer fits pod " + pod.key());
  }

  /**
   * Returns the GPUs that are held for the pod if they still fit by the newest readings, else
   * others.
   */
  private Optional<Placement> decide(PodFacts pod, NodeFit now) {
    Optional<Placement> held =
        core.ledger
            .hold(pod.uid())
            .filter(h -> h.node().equals(now.node()))
            .filter(h -> stillFits(h, now))
            .flatMap(h -> Optional.ofNullable(h.placement()));
    return now.placement().isEmpty() ? Optional.empty() : held.or(now::placement);
  }

  /**
   * Whether the held GPUs still fit. One of them may have been cut anew meanwhile, or its MPS
   * client slots may have been taken. If an earlier bind may have succeeded, the pod itself may use
   * the memory, so free memory isn't checked.
   */
  private static boolean stillFits(Hold hold, NodeFit now) {
    boolean maybeBound = !hold.isTentative();
    return hold.held().entrySet().stream()
        .allMatch(
            share ->
                now.gpus().stream()
                    .anyMatch(
                        g ->
                            g.uuid().equals(share.getKey())
                                && Placer.ineligible(now.request(), g).isEmpty()
                                && g.freeReplicas() >= share.getValue()
                                && g.freeClients() >= hold.clients(share.getKey())
                                && (maybeBound || g.replicasByMemory() >= share.getValue())));
  }

  private Optional<String> unacknowledged(PodFacts pod, String node, Throwable late) {
    metrics.ackTimeouts.increment();
    state.apply(new Event.BindFailed(pod.uid()));
    return Optional.of(
        "node %s did not acknowledge the assignment of pod %s: %s"
            .formatted(node, pod.key(), late.getMessage()));
  }

  /** Leadership may have been lost during the wait for the node's acknowledgement. */
  private Future<Optional<String>> leadershipLost(PodFacts pod, String why) {
    state.apply(new Event.BindFailed(pod.uid()));
    return error(why);
  }

  private Future<Optional<String>> post(
      PodFacts pod, NodeFit now, Placement place, Supplier<Optional<String>> expiry) {
    return api.bind(pod, now.node(), GrantAnnotations.of(place, now), expiry)
        .map(outcome -> applyOutcome(pod, now, place, outcome));
  }

  private Optional<String> applyOutcome(
      PodFacts pod, NodeFit now, Placement place, BindOutcome outcome) {
    switch (outcome) {
      case BindOutcome.Bound() -> {
        state.apply(new Event.BindDone(pod.uid()));
        core.explanations.bound(pod, core.evaluator.policyOf(pod), now, place);
      }
      case BindOutcome.BoundElsewhere(String other) -> {
        // Moves the hold to the pod's actual node; the informer delivers the rest.
        state.apply(new Event.BindFailed(pod.uid()));
        state.apply(Event.PodChecked.forBind(pod.on(other)));
      }
      case BindOutcome.Refused refused -> state.apply(new Event.BindFailed(pod.uid()));
      case BindOutcome.Unknown unknown -> state.apply(new Event.BindUnknown(pod.uid()));
    }
    return notBound(pod, now.node(), outcome);
  }

  private static Future<Optional<String>> error(String sentence) {
    return Future.succeededFuture(Optional.of(sentence));
  }
}
