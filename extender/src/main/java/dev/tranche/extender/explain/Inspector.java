package dev.tranche.extender.explain;

import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.NodeView;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.load.LoadCache;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.snapshot.ClusterSnapshot;
import dev.tranche.extender.snapshot.NodeFitCache;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Takes pictures of all that the extender knows. Calls of kube-scheduler wait meanwhile, so that a
 * node is looked at anew only when it has changed, and most nodes ahead. The same object for the
 * same node also spares readers to compare, and the collector to copy. Confined to the extender's
 * loop.
 */
public final class Inspector {
  /** Less than half a millisecond, where all have changed. */
  private static final int NODES_AHEAD_AT_ONCE = 32;

  private final Ledger ledger;
  private final LoadCache loads;
  private final NodeFitCache evaluations;
  private Map<String, Looked> before = new HashMap<>();

  /** Nodes that are still to be looked at ahead. */
  private Iterator<String> ahead = Collections.emptyIterator();

  public Inspector(Ledger ledger, LoadCache loads, NodeFitCache evaluations) {
    this.ledger = ledger;
    this.loads = loads;
    this.evaluations = evaluations;
  }

  /**
   * A node, and all that it was made from.
   *
   * @param seen the same for as long as nothing in it differs
   */
  private record Looked(
      Inspection.Node node,
      long ledgerVersion,
      long loadsVersion,
      ClusterSnapshot.Seen seen,
      List<Hold> holds) {
    /** Another hold is another version of the Ledger's page. */
    @SuppressWarnings("ReferenceEquality")
    boolean isOf(long ledgerVersionNow, long loadsVersionNow, ClusterSnapshot.Seen seenNow) {
      return ledgerVersion == ledgerVersionNow
          && loadsVersion == loadsVersionNow
          && seen == seenNow;
    }
  }

  /**
   * Looks at some nodes ahead, so that the picture finds little that has changed since.
   *
   * @return whether there are more
   */
  public boolean lookAhead(long nowMs, Instant at) {
    if (!ahead.hasNext()) {
      ahead = List.copyOf(ledger.nodes()).iterator();
    }
    for (int i = 0; i < NODES_AHEAD_AT_ONCE && ahead.hasNext(); i++) {
      String name = ahead.next();
      before.put(name, look(name, at, nowMs));
    }
    return ahead.hasNext();
  }

  /**
   * Of one moment.
   *
   * @param waitingPods rejected ones that are woken when a GPU has room
   * @param at the time of day, of the same moment as {@code nowMs}
   */
  public Inspection inspect(int waitingPods, long nowMs, Instant at) {
    var nodes = new ArrayList<Inspection.Node>();
    var stages = new TreeMap<String, Integer>();
    Inspection.STAGES.values().forEach(stage -> stages.put(stage, 0));
    stages.put(Inspection.CONFIRMED, 0);
    var now = HashMap.<String, Looked>newHashMap(before.size());
    for (String name : ledger.nodes().stream().sorted().toList()) {
      Looked looked = look(name, at, nowMs);
      now.put(name, looked);
      looked.holds().forEach(hold -> stages.merge(Inspection.stage(hold), 1, Integer::sum));
      Inspection.Node node = looked.node();
      if (!node.gpus().isEmpty() || !node.unplaced().isEmpty()) {
        nodes.add(node);
      }
    }
    before = now;
    return new Inspection(nodes, stages, waitingPods, List.copyOf(ledger.pods()), at);
  }

  private Looked look(String name, Instant at, long nowMs) {
    ClusterSnapshot.Seen seen = evaluations.seen(name, nowMs);
    long ledgerVersion = ledger.version(name);
    long loadsVersion = loads.version(name);
    @Nullable Looked known = before.get(name);
    if (known != null && known.isOf(ledgerVersion, loadsVersion, seen)) {
      return known;
    }
    List<Hold> holds = List.copyOf(ledger.holds(name));
    return new Looked(node(name, seen, holds, at, nowMs), ledgerVersion, loadsVersion, seen, holds);
  }

  private Inspection.Node node(
      String name, ClusterSnapshot.Seen seen, List<Hold> holds, Instant at, long nowMs) {
    NodeView view = ledger.view(name, hold -> true, nowMs);
    var gpus = new ArrayList<Inspection.Gpu>();
    // The same that the verbs look at: ones of its own would be a twentieth of the heap.
    List<GpuView> views = seen.gpus();
    for (int i = 0; i < views.size(); i++) {
      String uuid = views.get(i).uuid();
      Optional<LoadReading> reading = loads.get(name, uuid);
      List<Hold> here = holds.stream().filter(h -> h.held().containsKey(uuid)).toList();
      gpus.add(
          new Inspection.Gpu(
              views.get(i),
              view.gpus().get(i).strayReplicas(),
              reading.map(LoadReading::smMean).orElse(0.0),
              reading.map(LoadReading::memoryUsedBytes).orElse(0L),
              reading.map(r -> r.ageMs(nowMs)).orElse(-1L),
              here,
              formerReplicas(here, views.get(i).replicas()),
              reading));
    }
    return new Inspection.Node(
        name,
        view.availability(),
        gpus,
        holds.stream().filter(h -> h.placement() == null).toList(),
        at);
  }

  private Map<String, Integer> formerReplicas(List<Hold> holds, int replicas) {
    var former = new HashMap<String, Integer>();
    for (Hold hold : holds) {
      ledger
          .pod(hold.uid())
          .map(PodFacts::stampedReplicas)
          .filter(stamp -> stamp.orElse(replicas) != replicas)
          .ifPresent(stamp -> former.put(hold.uid(), stamp.getAsInt()));
    }
    return former;
  }
}
