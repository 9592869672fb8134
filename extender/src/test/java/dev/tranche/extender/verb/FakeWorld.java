package dev.tranche.extender.verb;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.extender.ledger.Assignment;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.NodeState;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.placement.MemoryGuard;
import dev.tranche.extender.score.Policy;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.vertx.core.Future;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Nodes and an API server that only remember what they were told, and a clock that stands unless it
 * is told to step.
 */
final class FakeWorld implements Nodes, Api {
  static final long GIB = 1L << 30;
  final List<String> woken = new ArrayList<>();
  final Map<String, String> told = new HashMap<>();
  final Map<String, PodFacts> onServer = new HashMap<>();
  final List<Assignment> assigned = new ArrayList<>();
  final SimpleMeterRegistry registry = new SimpleMeterRegistry();
  long nowMs = 100_000;

  /** So much passes whenever somebody looks at the clock. */
  long stepMs;

  /** What kubelets list, of whatever node. */
  Map<String, Map<String, Map<String, Integer>>> holdings = Map.of();

  Future<?> patched = Future.succeededFuture();
  BindOutcome outcome = new BindOutcome.Bound();

  /** What becomes of an assignment that is sent. */
  Future<Void> acknowledged = Future.succeededFuture();

  /** What the API server's call ends with instead of its outcome. */
  @Nullable Throwable failure;

  /** What is thrown instead of sending an assignment. */
  @Nullable Error unassignable;

  final List<Supplier<Optional<String>>> expiries = new ArrayList<>();
  final List<String> retracted = new ArrayList<>();
  final Core core;

  FakeWorld(Policy policy) {
    this(policy, MemoryGuard.ENFORCE);
  }

  FakeWorld(Policy policy, MemoryGuard guard) {
    core =
        new Core(
            policy,
            guard,
            Timing.DEFAULT,
            15_000,
            this,
            this,
            new ExtenderMetrics(registry),
            () -> nowMs += stepMs);
    core.synced();
  }

  /** A GPU of ten replicas and 10 GiB. */
  record Gpu(String uuid, double sm, long usedBytes, Map<String, Long> usedBytesByPod) {
    Gpu(String uuid, double sm, long usedBytes) {
      this(uuid, sm, usedBytes, Map.of());
    }
  }

  void report(String node, Gpu... gpus) {
    var readings = new HashMap<String, LoadReading>();
    for (Gpu gpu : gpus) {
      readings.put(
          gpu.uuid(), new LoadReading(gpu.usedBytes(), gpu.sm(), 0, nowMs, gpu.usedBytesByPod()));
    }
    report(node, readings, gpus);
  }

  /**
   * @param readings by uuid, instead of what the GPUs say
   */
  void report(String node, Map<String, LoadReading> readings, Gpu... gpus) {
    var facts = new ArrayList<GpuFacts>();
    for (int i = 0; i < gpus.length; i++) {
      String uuid = gpus[i].uuid();
      facts.add(
          new GpuFacts(uuid, i, "Tesla T4", Names.RESOURCE, 10, 10 * GIB, true, "", 0, "", 0));
    }
    var state = new NodeState(true, facts, holdings, true, Map.of(), List.of());
    core.reported(new Event.Reported(node, state, OptionalLong.of(0)), readings);
  }

  static PodFacts pod(String name, int replicas, String... annotations) {
    var all = new HashMap<String, String>();
    all.put(Names.GPU_FRACTION, "0." + replicas);
    all.put(Names.REPLICAS_PER_GPU, "10");
    Arrays.stream(annotations).map(a -> a.split("=", 2)).forEach(pair -> all.put(pair[0], pair[1]));
    var request = new Demand.Request("main", Demand.Kind.APP, replicas);
    return new PodFacts(
        name, "ns", name, null, false, false, Names.RESOURCE, List.of(request), all);
  }

  @Override
  public Future<Void> assign(String node, Assignment assignment) {
    if (unassignable != null) {
      throw unassignable;
    }
    assigned.add(assignment);
    return acknowledged;
  }

  @Override
  public void configure(String node, String config) {}

  @Override
  public void forget(String node) {}

  @Override
  public void retract(String node, String uid) {
    retracted.add(uid);
  }

  @Override
  public Future<BindOutcome> bind(
      PodFacts pod, String node, String gpuAnnotation, Supplier<Optional<String>> expiry) {
    expiries.add(expiry);
    return failure == null ? Future.succeededFuture(outcome) : Future.failedFuture(failure);
  }

  @Override
  public Future<Optional<PodFacts>> pod(String key) {
    return Future.succeededFuture(Optional.ofNullable(onServer.get(key)));
  }

  @Override
  public Future<?> wake(String node) {
    woken.add(node);
    return patched;
  }

  @Override
  public void explainRejection(PodFacts pod, String message) {
    told.put(pod.key(), message);
  }
}
