package dev.tranche.extender.snapshot;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.NodeView;
import dev.tranche.extender.ledger.NodeView.Availability;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.RequestsByReplicas;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.load.LoadCache;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.load.UsageDistribution;
import dev.tranche.extender.load.UseHistory;
import dev.tranche.extender.placement.GpuRequest;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.LoadForecast;
import dev.tranche.extender.placement.MemoryGuard;
import dev.tranche.extender.placement.Outcome;
import dev.tranche.extender.placement.Placer;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.score.IdleGpus;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.score.Scores;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Combines the Ledger and the measured load into what the verbs decide on. */
public final class ClusterView {
  /** Many times the pods that the history remembers. */
  private static final int LEARNED_FROM_MAX = 20_000;

  /** A node that could not be evaluated is tried again after so long. The cause may have passed. */
  public static final long FAILED_MS = 10_000;

  private final Ledger ledger;
  private final LoadCache loads;
  private final Timing timing;
  private final MemoryGuard guard;
  private final NodeFailures failures;
  private final UseHistory history = new UseHistory();

  /**
   * Pods on their GPUs that the history has learnt from. A node says itself how old its readings
   * are, so it could have one pod learnt from again and again, and decide what all pods are
   * expected to use.
   */
  private final Cache<String, Boolean> learnedFrom =
      Caffeine.newBuilder().maximumSize(LEARNED_FROM_MAX).executor(Runnable::run).build();

  private @Nullable RequestsByReplicas lastRequests;

  private @Nullable PodFacts lastPod;

  public ClusterView(
      Ledger ledger, LoadCache loads, Timing timing, MemoryGuard guard, NodeFailures failures) {
    this.ledger = ledger;
    this.loads = loads;
    this.timing = timing;
    this.guard = guard;
    this.failures = failures;
  }

  /** Reports an exception that one node causes. */
  void failed(String node, Throwable bug) {
    failures.failed(node, bug);
  }

  /**
   * Selects the holds that count.
   *
   * @param gone uids of pods that are assumed to have ended and to have freed their memory
   */
  public record HoldFilter(Predicate<Hold> counted, Set<String> gone) {
    public static final HoldFilter ALL = new HoldFilter(hold -> true, Set.of());

    boolean counts(Hold hold) {
      return !gone.contains(hold.uid()) && counted.test(hold);
    }
  }

  /**
   * @param filter the holds that count, without the pod's own
   */
  NodeFit evaluate(PodFacts pod, String node, Policy policy, HoldFilter filter, long nowMs) {
    GpuRequest request = request(pod, ledger.replicasPerGpu(node, pod.resource()));
    return evaluate(node, request, nodeGpus(node, filter, nowMs), policy);
  }

  @SuppressWarnings("ReferenceEquality") // A verb looks at many nodes for one pod.
  private GpuRequest request(PodFacts pod, int nodeReplicas) {
    RequestsByReplicas known = lastRequests;
    if (known == null || pod != lastPod) {
      known = new RequestsByReplicas(pod);
      lastPod = pod;
      lastRequests = known;
    }
    return known.of(nodeReplicas);
  }

  /** Evaluates a node; on any thread. An exception is a refusal of this node. */
  NodeFit evaluate(String node, GpuRequest request, NodeGpus nodeGpus, Policy policy) {
    try {
      return evaluated(node, request, nodeGpus, policy);
    } catch (RuntimeException | StackOverflowError bug) {
      failures.failed(node, bug);
      var refusal = new Outcome.DoesNotFit(Reason.FAILED);
      return new NodeFit(node, request, List.of(), refusal, false, 0, 0, 0, 0);
    }
  }

  private static NodeFit evaluated(
      String node, GpuRequest request, NodeGpus nodeGpus, Policy policy) {
    Outcome outcome = outcome(request, nodeGpus, policy);
    IdleGpus idleness =
        nodeGpus.availability() == Availability.AVAILABLE
            ? IdleGpus.of(request, nodeGpus.gpus())
            : IdleGpus.NONE;
    Scores.Score score =
        outcome instanceof Outcome.Fits(var placement)
            ? Scores.of(policy, nodeGpus.gpus(), placement)
            : Scores.Score.NONE;
    boolean fits = outcome instanceof Outcome.Fits;
    return new NodeFit(
        node,
        request,
        nodeGpus.gpus(),
        outcome,
        fits,
        score.headroom(),
        score.cost(),
        idleness.gpus(),
        idleness.idle());
  }

  private static Outcome outcome(GpuRequest request, NodeGpus nodeGpus, Policy policy) {
    return switch (nodeGpus.availability()) {
      case FAILED -> new Outcome.DoesNotFit(Reason.FAILED);
      case SILENT -> new Outcome.DoesNotFit(Reason.NO_REPORT);
      case NOT_SERVING -> new Outcome.DoesNotFit(Reason.NOT_SERVING);
      case NOT_ACKNOWLEDGING ->
          Placer.place(request, nodeGpus.gpus(), policy.order) instanceof Outcome.DoesNotFit lacks
                  && lacks.reason() != Reason.UNDECIDED
              ? lacks
              : new Outcome.DoesNotFit(Reason.NOT_ACKNOWLEDGING);
      case AVAILABLE -> Placer.place(request, nodeGpus.gpus(), policy.order);
    };
  }

  /**
   * A snapshot of a node's GPUs.
   *
   * @param fadesAtMs when the first hold that counts as not measured yet ceases to; the largest
   *     number if there is none. Until then, only another reading changes its weight.
   */
  public record NodeGpus(Availability availability, List<GpuView> gpus, long fadesAtMs) {}

  public NodeGpus nodeGpus(String node, HoldFilter filter, long nowMs) {
    return nodeGpus(node, filter, List.of(), nowMs);
  }

  /**
   * @param more additional holds that are assumed
   */
  NodeGpus nodeGpus(String node, HoldFilter filter, List<Hold> more, long nowMs) {
    try {
      NodeView view = ledger.view(node, filter::counts, nowMs, more.toArray(Hold[]::new));
      return new NodeGpus(
          view.availability(), gpus(node, view, filter, nowMs), fadesAtMs(node, view));
    } catch (RuntimeException bug) {
      failures.failed(node, bug);
      return new NodeGpus(Availability.FAILED, List.of(), nowMs + FAILED_MS);
    }
  }

  private long fadesAtMs(String node, NodeView view) {
    long first = Long.MAX_VALUE;
    for (NodeView.Gpu gpu : view.gpus()) {
      if (!gpu.young().isEmpty()) {
        Optional<LoadReading> reading = loads.get(node, gpu.facts().uuid());
        for (NodeView.Young young : gpu.young()) {
          boolean fades = reading.filter(r -> pending(node, gpu, young, r) > 0).isPresent();
          first = fades ? Math.min(first, young.sinceMs() + timing.newcomerMs() + 1) : first;
        }
      }
    }
    return first;
  }

  private List<GpuView> gpus(String node, NodeView view, HoldFilter filter, long nowMs) {
    var gpus = new GpuView[view.gpus().size()];
    for (int i = 0; i < gpus.length; i++) {
      gpus[i] = gpu(node, view.gpus().get(i), filter, nowMs);
    }
    return List.of(gpus);
  }

  private GpuView gpu(String node, NodeView.Gpu gpu, HoldFilter filter, long nowMs) {
    var facts = gpu.facts();
    @Nullable LoadReading reading = loads.get(node, facts.uuid()).orElse(null);
    boolean measured = reading != null && !loads.stale(reading, nowMs);
    long granted = gpu.grantedBytes();
    // A stale reading still counts: memory in use must not look free because no newer reading has
    // come.
    UngrantedMemory ungranted =
        reading == null || guard == MemoryGuard.OFF
            ? UngrantedMemory.NOTHING
            : ungrantedMemory(node, facts, granted, reading, filter);
    return new GpuView(
        facts.uuid(),
        facts.index(),
        facts.model(),
        facts.resource(),
        facts.replicas(),
        facts.healthy(),
        gpu.cordoned(),
        gpu.freeReplicas(),
        gpu.freeClients(),
        facts.memoryUsableBytes(),
        Math.max(
            0,
            facts.memoryUsableBytes()
                - granted
                - ungranted.podsBytes()
                - ungranted.unattributedBytes()),
        reading == null ? gpu.grantedShare() : reading.smMean() + unmeasured(node, gpu, reading),
        measured,
        guard == MemoryGuard.ENFORCE,
        facts.healthy() ? facts.cordonReason() : facts.healthReason(),
        reading == null
            ? LoadForecast.certain(0, history.odds())
            : loadForecast(node, gpu, reading, filter),
        ungranted.unattributedBytes());
  }

  /**
   * Forecasts the load of a GPU. Settled pods and others count with their measured use; the rest
   * are newcomers.
   */
  private LoadForecast loadForecast(
      String node, NodeView.Gpu gpu, LoadReading reading, HoldFilter filter) {
    Map<String, Double> uses = reading.smByPod();
    double measuredUse =
        uses.isEmpty() ? reading.smMean() : sum(uses) - goneUse(node, uses, filter);
    var newcomers = new ArrayList<LoadForecast.Newcomer>(gpu.young().size());
    for (NodeView.Young young : gpu.young()) {
      double pending = pending(node, gpu, young, reading);
      double used = uses.getOrDefault(young.pod(), 0.0);
      if (pending > 0) {
        measuredUse -= used;
        newcomers.add(new LoadForecast.Newcomer(young.share(), used, pending));
      }
    }
    return LoadForecast.of(Math.max(0, measuredUse), newcomers, history.odds());
  }

  private static double sum(Map<String, Double> uses) {
    double sum = 0;
    for (double use : uses.values()) {
      sum += use;
    }
    return sum;
  }

  private double goneUse(String node, Map<String, Double> uses, HoldFilter filter) {
    double gone = 0;
    if (!filter.gone().isEmpty()) {
      for (Hold hold : ledger.holds(node)) {
        gone += filter.gone().contains(hold.uid()) ? uses.getOrDefault(hold.key(), 0.0) : 0;
      }
    }
    return gone;
  }

  /**
   * Adds the use of those pods that have become known for long enough since the previous readings.
   *
   * @param readings by uuid, which the load cache does not have yet
   * @return whether the odds have changed, which affects every node
   */
  boolean learn(Event.Reported report, Map<String, LoadReading> readings) {
    if (!loads.namesPods(report.node())) {
      return false;
    }
    UsageDistribution before = history.odds();
    for (GpuFacts gpu : report.state().gpus()) {
      LoadReading now = readings.get(gpu.uuid());
      if (now != null && !now.smByPod().isEmpty()) {
        loads
            .get(report.node(), gpu.uuid())
            .ifPresent(last -> learn(report.node(), gpu, last, now));
      }
    }
    return !history.odds().equals(before);
  }

  /** Uses the means up to the last reading: one reading alone says little. */
  private void learn(String node, GpuFacts gpu, LoadReading last, LoadReading now) {
    for (Hold hold : ledger.holds(node)) {
      int share = hold.held().getOrDefault(gpu.uuid(), 0);
      Double mean = last.smByPod().get(hold.key());
      if (share > 0 && mean != null && now.smByPod().containsKey(hold.key())) {
        long knownMs = knownAtMs(node, gpu, hold);
        if (knownMs <= now.sampledAtMs()
            && knownMs > last.sampledAtMs()
            && learnedFrom.asMap().putIfAbsent(hold.uid() + "/" + gpu.uuid(), true) == null) {
          double part = (double) share / ledger.countedIn(hold, gpu);
          history.add(mean, part, 1.0 / hold.held().size());
        }
      }
    }
  }

  /**
   * Returns when a pod's use counts as known: after a period of work, or when it still does
   * nothing.
   */
  private long knownAtMs(String node, GpuFacts gpu, Hold hold) {
    long beganMs = Math.max(hold.sinceMs(), loads.beganAtMs(node, gpu.uuid(), hold.key()));
    long idleAtMs = hold.sinceMs() + timing.idleAfterMs();
    return beganMs <= idleAtMs ? beganMs + timing.youngMs() : idleAtMs;
  }

  /**
   * Memory in use that no grant covers.
   *
   * @param podsBytes use above the pods' own grants
   * @param unattributedBytes use that belongs to no known pod
   */
  private record UngrantedMemory(long podsBytes, long unattributedBytes) {
    static final UngrantedMemory NOTHING = new UngrantedMemory(0, 0);
  }

  /**
   * Returns the memory in use that no grant covers: what pods use above their grants, and what
   * belongs to no known pod. If the node cannot tell its processes apart, it is all measured use
   * above the grants. For pods that are assumed to have ended, their measured use is subtracted, or
   * else their grant.
   */
  private UngrantedMemory ungrantedMemory(
      String node, GpuFacts gpu, long granted, LoadReading reading, HoldFilter filter) {
    Map<String, Long> uses = reading.memoryUsedBytesByPod();
    if (uses.isEmpty() && filter.gone().isEmpty()) {
      return new UngrantedMemory(0, Math.max(0, reading.memoryUsedBytes() - granted));
    }
    long aboveGrants = 0;
    long attributed = 0;
    for (Hold hold : ledger.holds(node)) {
      int share = hold.held().getOrDefault(gpu.uuid(), 0);
      long grant = share == 0 ? 0 : gpu.memoryUsableBytes() / ledger.countedIn(hold, gpu) * share;
      long used = share == 0 ? 0 : uses.getOrDefault(hold.key(), 0L);
      if (filter.gone().contains(hold.uid())) {
        attributed += uses.isEmpty() ? grant : used;
      } else if (filter.counts(hold)) {
        aboveGrants += Math.max(0, used - grant);
        attributed += used;
      }
    }
    long unattributed = Math.max(0, reading.memoryUsedBytes() - attributed);
    return uses.isEmpty()
        ? new UngrantedMemory(0, Math.max(0, unattributed - granted))
        : new UngrantedMemory(aboveGrants, unattributed);
  }

  /**
   * Returns the granted shares of pods that began too late to be in the mean. A share fades out as
   * the mean follows.
   */
  private double unmeasured(String node, NodeView.Gpu gpu, LoadReading reading) {
    double share = 0;
    for (NodeView.Young young : gpu.young()) {
      share += young.share() * pending(node, gpu, young, reading);
    }
    return share;
  }

  /**
   * Returns the probability that the readings do not show yet what a pod uses. If nothing tells who
   * uses the GPU, the pod is assumed to begin when it is bound.
   */
  private double pending(String node, NodeView.Gpu gpu, NodeView.Young young, LoadReading reading) {
    long sinceMs = young.sinceMs();
    long beganMs =
        loads.attributesUse(node, reading)
            ? Math.max(sinceMs, loads.beganAtMs(node, gpu.facts().uuid(), young.pod()))
            : sinceMs;
    long readMs = reading.sampledAtMs();
    boolean working = beganMs <= sinceMs + timing.idleAfterMs();
    double known =
        working
            ? (double) (readMs - beganMs) / timing.youngMs()
            : (double) (readMs - sinceMs) / timing.idleAfterMs();
    return 1 - Math.clamp(known, 0, 1);
  }
}
