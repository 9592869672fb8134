package dev.tranche.extender.snapshot;

import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.NodeView;
import dev.tranche.extender.ledger.PodFacts;
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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The Ledger and the load side by side: what the verbs decide on. */
public final class ClusterSnapshot {
  private final Ledger ledger;
  private final LoadCache loads;
  private final Timing timing;
  private final MemoryGuard guard;
  private final UseHistory history = new UseHistory();

  /** What the last pod asks, by R: its lists of names may be long, and are read once. */
  private final Map<Integer, GpuRequest> lastAsks = new HashMap<>();

  private @Nullable PodFacts lastPod;

  public ClusterSnapshot(Ledger ledger, LoadCache loads, Timing timing, MemoryGuard guard) {
    this.ledger = ledger;
    this.loads = loads;
    this.timing = timing;
    this.guard = guard;
  }

  /**
   * Whose holds count.
   *
   * @param gone uids of pods that are taken to have ended, and their memory with them
   */
  public record Present(Predicate<Hold> counted, Set<String> gone) {
    public static final Present ALL = new Present(hold -> true, Set.of());

    public Present without(PodFacts pod) {
      return new Present(hold -> !hold.uid().equals(pod.uid()) && counted.test(hold), gone);
    }

    boolean has(Hold hold) {
      return !gone.contains(hold.uid()) && counted.test(hold);
    }
  }

  /**
   * @param present without the pod's own hold
   */
  NodeFit evaluate(PodFacts pod, String node, Policy policy, Present present, long nowMs) {
    GpuRequest ask = ask(pod, ledger.replicasPerGpu(node, pod.resource()));
    return evaluate(node, ask, seen(node, present, nowMs), policy);
  }

  @SuppressWarnings("ReferenceEquality") // A verb looks at many nodes for one pod.
  private GpuRequest ask(PodFacts pod, int nodeReplicas) {
    if (pod != lastPod) {
      lastPod = pod;
      lastAsks.clear();
    }
    return lastAsks.computeIfAbsent(nodeReplicas, pod::ask);
  }

  public static NodeFit evaluate(String node, GpuRequest ask, Seen seen, Policy policy) {
    Outcome outcome = outcome(ask, seen, policy);
    IdleGpus idleness =
        seen.availability() == NodeView.Availability.AVAILABLE
            ? IdleGpus.of(ask, seen.gpus())
            : IdleGpus.NONE;
    Scores.Score score =
        outcome instanceof Outcome.Fits(var placement)
            ? Scores.of(policy, seen.gpus(), placement)
            : Scores.Score.NONE;
    boolean fits = outcome instanceof Outcome.Fits;
    return new NodeFit(
        node,
        ask,
        seen.gpus(),
        outcome,
        fits,
        score.headroom(),
        score.cost(),
        idleness.gpus(),
        idleness.idle());
  }

  public static Outcome outcome(GpuRequest ask, Seen seen, Policy policy) {
    return switch (seen.availability()) {
      case SILENT -> new Outcome.DoesNotFit(Reason.NO_REPORT);
      case NOT_SERVING -> new Outcome.DoesNotFit(Reason.NOT_SERVING);
      case AVAILABLE -> Placer.place(ask, seen.gpus(), policy.order());
    };
  }

  /**
   * A node's GPUs at one moment.
   *
   * @param fadesAtMs when the first hold that counts as not measured yet ceases to: until then only
   *     another reading changes its weight. Never: the largest number.
   */
  public record Seen(NodeView.Availability availability, List<GpuView> gpus, long fadesAtMs) {}

  public Seen seen(String node, Present present, long nowMs) {
    return seen(node, present, List.of(), nowMs);
  }

  /**
   * @param more holds that are taken to be there, too
   */
  Seen seen(String node, Present present, List<Hold> more, long nowMs) {
    NodeView view = ledger.view(node, present::has, more, nowMs);
    return new Seen(view.availability(), gpus(view, present, nowMs), fadesAtMs(view));
  }

  private long fadesAtMs(NodeView view) {
    long first = Long.MAX_VALUE;
    for (NodeView.Gpu gpu : view.gpus()) {
      if (!gpu.young().isEmpty()) {
        first = Math.min(first, fadesAtMs(view.name(), gpu));
      }
    }
    return first;
  }

  private long fadesAtMs(String node, NodeView.Gpu gpu) {
    Optional<LoadReading> reading = loads.get(node, gpu.facts().uuid());
    long first = Long.MAX_VALUE;
    for (NodeView.Young young : gpu.young()) {
      boolean fades = reading.filter(r -> pending(node, gpu, young, r) > 0).isPresent();
      first = fades ? Math.min(first, young.sinceMs() + timing.newcomerMs() + 1) : first;
    }
    return first;
  }

  private List<GpuView> gpus(NodeView view, Present present, long nowMs) {
    var gpus = new GpuView[view.gpus().size()];
    for (int i = 0; i < gpus.length; i++) {
      gpus[i] = gpu(view.name(), view.gpus().get(i), present, nowMs);
    }
    return List.of(gpus);
  }

  private GpuView gpu(String node, NodeView.Gpu gpu, Present present, long nowMs) {
    var facts = gpu.facts();
    @Nullable LoadReading reading = loads.get(node, facts.uuid()).orElse(null);
    boolean measured = reading != null && !loads.stale(reading, nowMs);
    int taken = facts.replicas() - gpu.freeReplicas();
    long granted = facts.memoryUsableBytes() / facts.replicas() * taken;
    // One past its age still counts: memory in use must not look free for want of news.
    Beyond beyond =
        reading == null || guard == MemoryGuard.OFF
            ? Beyond.NOTHING
            : beyondGrants(node, facts, granted, reading, present);
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
        Math.max(0, facts.memoryUsableBytes() - granted - beyond.pods() - beyond.nobodys()),
        reading == null
            ? (double) taken / facts.replicas()
            : reading.smMean() + unmeasured(node, gpu, reading),
        measured,
        guard == MemoryGuard.ENFORCE,
        facts.healthy() ? facts.cordonReason() : facts.healthReason(),
        reading == null
            ? LoadForecast.certain(0, history.odds())
            : outlook(node, gpu, reading, present),
        beyond.nobodys());
  }

  /** What settled pods and others use, as measured of each; the rest are newcomers. */
  private LoadForecast outlook(
      String node, NodeView.Gpu gpu, LoadReading reading, Present present) {
    Map<String, Double> uses = reading.smByPod();
    double settled = uses.isEmpty() ? reading.smMean() : sum(uses) - goneUse(node, uses, present);
    if (gpu.young().isEmpty()) {
      return LoadForecast.certain(Math.max(0, settled), history.odds());
    }
    var newcomers = new ArrayList<LoadForecast.Newcomer>(gpu.young().size());
    for (NodeView.Young young : gpu.young()) {
      double pending = pending(node, gpu, young, reading);
      double used = uses.getOrDefault(young.pod(), 0.0);
      if (pending > 0) {
        settled -= used;
        double asked = (double) young.replicas() / gpu.facts().replicas();
        newcomers.add(new LoadForecast.Newcomer(asked, used, pending));
      }
    }
    return LoadForecast.of(Math.max(0, settled), newcomers, history.odds());
  }

  private static double sum(Map<String, Double> uses) {
    double sum = 0;
    for (double use : uses.values()) {
      sum += use;
    }
    return sum;
  }

  private double goneUse(String node, Map<String, Double> uses, Present present) {
    double gone = 0;
    if (!present.gone().isEmpty()) {
      for (Hold hold : ledger.holds(node)) {
        gone += present.gone().contains(hold.uid()) ? uses.getOrDefault(hold.key(), 0.0) : 0;
      }
    }
    return gone;
  }

  /**
   * Counts what pods use that are known for long enough since the readings before.
   *
   * @param readings by uuid, of which the cache has not been told yet
   * @return whether the odds are others now, for every node
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

  /** By their means so far: one reading alone says little. */
  private void learn(String node, GpuFacts gpu, LoadReading last, LoadReading now) {
    for (Hold hold : ledger.holds(node)) {
      int share = hold.held().getOrDefault(gpu.uuid(), 0);
      Double mean = last.smByPod().get(hold.key());
      if (share > 0 && mean != null && now.smByPod().containsKey(hold.key())) {
        long knownMs = knownAtMs(node, gpu, hold);
        if (knownMs <= now.sampledAtMs() && knownMs > last.sampledAtMs()) {
          history.add(mean, (double) share / gpu.replicas(), 1.0 / hold.held().size());
        }
      }
    }
  }

  /** When its use says what it is: after a while of work, or when it still does nothing. */
  private long knownAtMs(String node, GpuFacts gpu, Hold hold) {
    long beganMs = Math.max(hold.sinceMs(), loads.beganAtMs(node, gpu.uuid(), hold.key()));
    long lateMs = hold.sinceMs() + timing.lateMs();
    return beganMs <= lateMs ? beganMs + timing.youngMs() : lateMs;
  }

  /**
   * Memory in use that no grant covers.
   *
   * @param pods that have more than theirs
   */
  private record Beyond(long pods, long nobodys) {
    static final Beyond NOTHING = new Beyond(0, 0);
  }

  /**
   * Memory in use that no grant covers: pods over theirs, and use by nobody known. Where the node
   * cannot tell its processes apart, all that is measured beyond the grants. Of pods that are taken
   * to have ended their measured use is, or else their grant.
   */
  private Beyond beyondGrants(
      String node, GpuFacts gpu, long granted, LoadReading reading, Present present) {
    Map<String, Long> uses = reading.memoryUsedBytesByPod();
    if (uses.isEmpty() && present.gone().isEmpty()) {
      return new Beyond(0, Math.max(0, reading.memoryUsedBytes() - granted));
    }
    long over = 0;
    long explained = 0;
    for (Hold hold : ledger.holds(node)) {
      int share = hold.held().getOrDefault(gpu.uuid(), 0);
      long grant = gpu.memoryUsableBytes() / gpu.replicas() * share;
      long used = share == 0 ? 0 : uses.getOrDefault(hold.key(), 0L);
      if (present.gone().contains(hold.uid())) {
        explained += uses.isEmpty() ? grant : used;
      } else if (present.has(hold)) {
        over += Math.max(0, used - grant);
        explained += used;
      }
    }
    long unexplained = Math.max(0, reading.memoryUsedBytes() - explained);
    return uses.isEmpty()
        ? new Beyond(0, Math.max(0, unexplained - granted))
        : new Beyond(over, unexplained);
  }

  /** Granted shares of pods that began too late to be in the mean; it fades as the mean follows. */
  private double unmeasured(String node, NodeView.Gpu gpu, LoadReading reading) {
    if (gpu.young().isEmpty()) {
      return 0;
    }
    double share = 0;
    for (NodeView.Young young : gpu.young()) {
      share += young.replicas() * pending(node, gpu, young, reading);
    }
    return share / gpu.facts().replicas();
  }

  /**
   * How likely it is that the readings do not show yet what a pod uses. Where nobody says who uses
   * the GPU, it is taken to begin when it is bound.
   */
  private double pending(String node, NodeView.Gpu gpu, NodeView.Young young, LoadReading reading) {
    long sinceMs = young.sinceMs();
    long beganMs =
        loads.tellsWho(node, reading)
            ? Math.max(sinceMs, loads.beganAtMs(node, gpu.facts().uuid(), young.pod()))
            : sinceMs;
    long readMs = reading.sampledAtMs();
    boolean working = beganMs <= sinceMs + timing.lateMs();
    double known =
        working
            ? (double) (readMs - beganMs) / timing.youngMs()
            : (double) (readMs - sinceMs) / timing.lateMs();
    return 1 - Math.clamp(known, 0, 1);
  }
}
