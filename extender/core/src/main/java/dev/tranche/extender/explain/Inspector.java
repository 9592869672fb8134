package dev.tranche.extender.explain;

import dev.tranche.extender.ledger.GpuFacts;
import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Hold.Stage;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.NodeView;
import dev.tranche.extender.ledger.NodeView.Availability;
import dev.tranche.extender.load.LoadCache;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.snapshot.ClusterView.NodeGpus;
import dev.tranche.extender.snapshot.NodeFitCache;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Takes snapshots of all that the extender knows. kube-scheduler's calls wait meanwhile, so a node
 * is read anew only when it has changed, and most nodes are read ahead. An unchanged node stays the
 * same object, which saves readers comparisons and the garbage collector copies. Confined to the
 * extender's loop.
 */
public final class Inspector {
  /** This many take less than half a millisecond, even if all have changed. */
  private static final int NODES_AHEAD_AT_ONCE = 32;

  /** A pod that works from time to time is not idle in between. */
  static final Duration IDLE_MIN = Duration.ofMinutes(1);

  /** The clocks of two snapshots may differ a little. */
  private static final Duration CLOCKS_DIFFER = Duration.ofSeconds(1);

  private final Ledger ledger;
  private final LoadCache loads;
  private final NodeFitCache evaluations;
  private Map<String, CachedNode> cachedNodes = new HashMap<>();

  /** Nodes that are still to be read ahead. */
  private Iterator<String> ahead = Collections.emptyIterator();

  public Inspector(Ledger ledger, LoadCache loads, NodeFitCache evaluations) {
    this.ledger = ledger;
    this.loads = loads;
    this.evaluations = evaluations;
  }

  /**
   * A snapshot of a node, and all that it was made from.
   *
   * @param nodeGpus the same object for as long as nothing in it differs
   */
  private record CachedNode(
      Inspection.Node node,
      long ledgerVersion,
      long loadsVersion,
      NodeGpus nodeGpus,
      Map<Stage, Integer> holdsByStage) {
    /** Returns since when pods have been idle, by uuid and uid. */
    Map<String, Map<String, Instant>> idleSince() {
      return node.gpus().stream()
          .collect(
              Collectors.toMap(
                  gpu -> gpu.view().uuid(), Inspection.Gpu::idleSince, (one, _) -> one));
    }

    /** Does not compare holds: a change of them changes the Ledger's version of the node. */
    @SuppressWarnings("ReferenceEquality")
    boolean isCurrent(long ledgerVersionNow, long loadsVersionNow, NodeGpus nodeGpusNow) {
      return ledgerVersion == ledgerVersionNow
          && loadsVersion == loadsVersionNow
          && nodeGpus == nodeGpusNow;
    }
  }

  /**
   * Reads some nodes ahead, so that {@link #inspect} finds few that have changed since.
   *
   * @return whether there are more
   */
  public boolean readAhead(long nowMs, Instant at) {
    if (!ahead.hasNext()) {
      ahead = List.copyOf(ledger.nodes()).iterator();
    }
    for (int i = 0; i < NODES_AHEAD_AT_ONCE && ahead.hasNext(); i++) {
      String name = ahead.next();
      cachedNodes.put(name, refresh(name, at, nowMs));
    }
    return ahead.hasNext();
  }

  /**
   * Takes a snapshot of one moment.
   *
   * @param at the time of day, of the same moment as {@code nowMs}
   */
  public Inspection inspect(long nowMs, Instant at) {
    var nodes = new ArrayList<Inspection.Node>();
    var stages = new EnumMap<Stage, Integer>(Stage.class);
    EnumSet.allOf(Stage.class).forEach(stage -> stages.put(stage, 0));
    var refreshed = HashMap.<String, CachedNode>newHashMap(cachedNodes.size());
    for (String name : ledger.nodes().stream().sorted().toList()) {
      CachedNode cached = refresh(name, at, nowMs);
      refreshed.put(name, cached);
      cached.holdsByStage().forEach((stage, count) -> stages.merge(stage, count, Integer::sum));
      Inspection.Node node = cached.node();
      if (!node.gpus().isEmpty() || !node.unplaced().isEmpty()) {
        nodes.add(node);
      }
    }
    cachedNodes = refreshed;
    return new Inspection(nodes, stages, List.copyOf(ledger.pods()), at);
  }

  private CachedNode refresh(String name, Instant at, long nowMs) {
    NodeGpus nodeGpus = evaluations.nodeGpus(name, nowMs);
    long ledgerVersion = ledger.version(name);
    long loadsVersion = loads.version(name);
    @Nullable CachedNode known = cachedNodes.get(name);
    if (known != null && known.isCurrent(ledgerVersion, loadsVersion, nodeGpus)) {
      return known;
    }
    List<Hold> holds = List.copyOf(ledger.holds(name));
    return new CachedNode(
        node(name, nodeGpus, holds, at, nowMs, known == null ? Map.of() : known.idleSince()),
        ledgerVersion,
        loadsVersion,
        nodeGpus,
        byStage(holds));
  }

  private static Map<Stage, Integer> byStage(List<Hold> holds) {
    var stages = new HashMap<Stage, Integer>();
    holds.forEach(hold -> stages.merge(hold.stage(), 1, Integer::sum));
    return Map.copyOf(stages);
  }

  private Inspection.Node node(
      String name,
      NodeGpus nodeGpus,
      List<Hold> holds,
      Instant at,
      long nowMs,
      Map<String, Map<String, Instant>> idleBefore) {
    if (nodeGpus.availability() == Availability.FAILED) {
      return new Inspection.Node(name, nodeGpus.availability(), List.of(), List.of(), at);
    }
    NodeView view = ledger.view(name, hold -> true, nowMs);
    var gpus = new ArrayList<Inspection.Gpu>();
    // The same objects that the verbs read: separate ones would be a twentieth of the heap.
    List<GpuView> views = nodeGpus.gpus();
    for (int i = 0; i < views.size(); i++) {
      GpuView gpu = views.get(i);
      GpuFacts facts = view.gpus().get(i).facts();
      Optional<LoadReading> last = loads.get(name, gpu.uuid());
      LoadReading reading = last.orElse(LoadReading.NONE);
      List<Hold> here = holds.stream().filter(h -> h.held().containsKey(gpu.uuid())).toList();
      Map<String, Instant> idle = idleBefore.getOrDefault(gpu.uuid(), Map.of());
      gpus.add(
          new Inspection.Gpu(
              gpu,
              last.map(r -> r.ageMs(nowMs)).orElse(-1L),
              here,
              formerReplicas(here, facts),
              reading,
              gpu.measured() ? idleSince(gpu.uuid(), here, reading, at, nowMs, idle) : Map.of(),
              facts.limited()));
    }
    return new Inspection.Node(
        name,
        view.availability(),
        gpus,
        holds.stream().filter(h -> h.placement() == null).toList(),
        at);
  }

  private Map<String, Instant> idleSince(
      String uuid,
      List<Hold> holds,
      LoadReading reading,
      Instant at,
      long nowMs,
      Map<String, Instant> before) {
    var idle = new HashMap<String, Instant>();
    for (Hold hold : holds) {
      long idleMs = nowMs - loads.idleSinceMs(hold.node(), uuid, hold.key());
      Instant since = idleMs < 0 ? at : at.minusMillis(idleMs);
      // Another pod of the same name may have been there before.
      Instant started =
          Instant.ofEpochMilli(
              ledger.pod(hold.uid()).map(pod -> pod.preemption().startedAtMs()).orElse(0L));
      since = started.isAfter(since) ? started : since;
      // A use that is not known is not idle.
      if (Duration.between(since, at).compareTo(IDLE_MIN) >= 0
          && reading.smOf(hold.key()) != null) {
        Instant known = before.getOrDefault(hold.uid(), since);
        boolean same = Duration.between(known, since).abs().compareTo(CLOCKS_DIFFER) < 0;
        idle.put(hold.uid(), same ? known : since);
      }
    }
    return idle.isEmpty() ? Map.of() : Map.copyOf(idle);
  }

  private Map<String, Integer> formerReplicas(List<Hold> holds, GpuFacts gpu) {
    var former = new HashMap<String, Integer>();
    for (Hold hold : holds) {
      int countedIn = ledger.countedIn(hold, gpu);
      if (countedIn != gpu.replicas()) {
        former.put(hold.uid(), countedIn);
      }
    }
    return former;
  }
}
