package dev.tranche.extender.state;

import dev.tranche.extender.core.SchedulingCore;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.limit.NodeRate;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.process.meters.Failures;
import io.vertx.core.Future;
import java.util.Optional;
import java.util.function.Function;

/**
 * The state that the verbs share, connected: whether they may decide, the pods that wait or are
 * nominated, and the only writer of it all. Confined to the loop, except where a part says
 * otherwise.
 */
public final class SchedulingState {
  public final ReadinessGate readiness;
  public final UnschedulablePods waiting;
  public final NominatedPods nominees;
  public final StateWriter writer;
  public final NominationPlanner nominations;
  public final PodWaker waker;

  /**
   * @param readPod reads a pod from the API server by {@code namespace/name}; completes on the loop
   * @param wake changes the node of that name, so that kube-scheduler retries rejected pods
   */
  public SchedulingState(
      SchedulingCore core,
      NodePlugins nodes,
      Function<String, Future<Optional<PodFacts>>> readPod,
      Function<String, Future<?>> wake,
      ExtenderMetrics metrics,
      Failures failures) {
    this.readiness = new ReadinessGate(core.ledger::allReported, core.clockMs);
    this.waiting = new UnschedulablePods(core.ledger, core.fits, core.evaluator, metrics);
    this.nominees = new NominatedPods(core.ledger, core.clockMs);
    var checkRate = new NodeRate("pod-checks", PodChecks.RATE, core.clockMs, metrics);
    var checks = new PodChecks(readPod, checkRate, metrics);
    this.writer = new StateWriter(core, waiting, nominees, checks, nodes, metrics, failures);
    this.nominations = new NominationPlanner(core, nominees, writer);
    var wakeRate = new NodeRate("wake-ups", PodWaker.RATE, core.clockMs, metrics);
    this.waker = new PodWaker(core, readiness, waiting, wake, wakeRate, metrics);
  }
}
