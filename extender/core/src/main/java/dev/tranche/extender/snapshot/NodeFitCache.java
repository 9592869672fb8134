package dev.tranche.extender.snapshot;

import dev.tranche.api.Demand;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.ledger.RequestsByReplicas;
import dev.tranche.extender.load.LoadCache;
import dev.tranche.extender.load.LoadCache.LoadChange;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.placement.GpuRequest;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.snapshot.ClusterView.HoldFilter;
import dev.tranche.extender.snapshot.ClusterView.NodeGpus;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Caches how nodes fit pods, for as long as nothing about the node changes. Pods come in series
 * with equal requests, and between two of them only a few of thousands of nodes change. Confined to
 * the one event loop.
 */
public final class NodeFitCache {
  /** Limit of cached kinds of pods; the least recently used ones are evicted. */
  static final int SHAPES_MAX = 24;

  /** Limit of changed nodes that are marked at once, since each may wait for memory. */
  public static final int MARKED_MAX = 1_000;

  /** The index of a node that is not cached. */
  private static final int UNKNOWN = Integer.MAX_VALUE;

  private final Ledger ledger;
  private final LoadCache loads;
  private final ClusterView cluster;
  final Map<String, Slot> slots = new HashMap<>();
  final Map<Shape, Page> pages =
      new LinkedHashMap<>(SHAPES_MAX, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Shape, Page> eldest) {
          return size() > SHAPES_MAX;
        }
      };

  /** The snapshots and fits that were not cached. */
  private long computed;

  /** Indexes of removed nodes, for reuse. */
  private final Deque<Integer> freeIndexes = new ArrayDeque<>();

  public NodeFitCache(Ledger ledger, LoadCache loads, ClusterView cluster) {
    this.ledger = ledger;
    this.loads = loads;
    this.cluster = cluster;
  }

  /** Everything that decides a pod's placement, apart from the node. */
  record Shape(
      String resource,
      List<Demand.Request> requests,
      Map<String, String> annotations,
      Policy policy) {}

  /** The cache entry of one node. */
  static final class Slot {
    /** The node's index in the arrays of the pages. */
    final int index;

    boolean changed = true;

    /** When the entry expires although nothing has changed it. */
    long untilMs;

    @Nullable NodeGpus nodeGpus;

    Slot(int index) {
      this.index = index;
    }
  }

  /**
   * The nodes' fits for one kind of pod, in an array by the nodes' indexes. Reading thousands of
   * nodes waits for memory, so each object less is a wait less.
   */
  final class Page {
    private final PodFacts example;
    private final Policy policy;
    private final RequestsByReplicas requests;

    /** Each is valid until its node changes, and is dropped then. */
    @Nullable NodeFit[] evaluations = new NodeFit[0];

    private Page(PodFacts example, Policy policy) {
      this.example = example;
      this.requests = new RequestsByReplicas(example);
      this.policy = policy;
    }

    NodeFit of(String node, long nowMs) {
      Slot slot = slot(node);
      NodeGpus nodeGpus = nodeGpus(slot, node, nowMs);
      NodeFit known = slot.index < evaluations.length ? evaluations[slot.index] : null;
      if (known != null) {
        return known;
      }
      computed++;
      GpuRequest request = requests.of(ledger.replicasPerGpu(node, example.resource()));
      NodeFit evaluation = cluster.evaluate(node, request, nodeGpus, policy);
      keep(slot.index, evaluation);
      return evaluation;
    }

    private void keep(int index, NodeFit evaluation) {
      if (index == UNKNOWN) {
        return;
      }
      if (index >= evaluations.length) {
        int length = Math.max(index + 1, slots.size() + slots.size() / 4);
        evaluations = Arrays.copyOf(evaluations, length);
      }
      evaluations[index] = evaluation;
    }

    private void drop(int index) {
      if (index < evaluations.length) {
        evaluations[index] = null;
      }
    }
  }

  /** Returns the page for a pod that holds nothing yet. */
  Page page(PodFacts pod, Policy policy) {
    var shape = new Shape(pod.resource(), pod.requests(), pod.annotations(), policy);
    Page known = pages.get(shape);
    if (known != null) {
      return known;
    }
    var page = new Page(pod, policy);
    pages.put(shape, page);
    return page;
  }

  /** Returns how many snapshots and fits were not cached so far. */
  public long computed() {
    return computed;
  }

  /** Counts a fit that is kept elsewhere. */
  void countComputed() {
    computed++;
  }

  /**
   * Returns a node's snapshot; the same object for as long as nothing in it changes. It may be read
   * on any thread.
   */
  public NodeGpus nodeGpus(String node, long nowMs) {
    return nodeGpus(slot(node), node, nowMs);
  }

  private NodeGpus nodeGpus(Slot slot, String node, long nowMs) {
    NodeGpus before = slot.nodeGpus;
    if (before != null && !slot.changed && nowMs < slot.untilMs) {
      return before;
    }
    computed++;
    NodeGpus fresh = cluster.nodeGpus(node, HoldFilter.ALL, nowMs);
    if (before != null && before.equals(fresh)) {
      fresh = before;
    } else {
      drop(slot.index);
    }
    slot.nodeGpus = fresh;
    slot.changed = false;
    slot.untilMs = until(node, fresh, nowMs);
    return fresh;
  }

  /**
   * Drops a node's results. Results of an older snapshot are of no use, and would keep it in
   * memory. Each kind of pod that is not requested for a while would keep one, with every GPU.
   */
  private void drop(int index) {
    pages.values().forEach(page -> page.drop(index));
  }

  /**
   * Returns a number that the node has until it is gone; another node may have it later. Negative
   * for a node that the Ledger does not know.
   */
  public int index(String node) {
    int index = slot(node).index;
    return index == UNKNOWN ? -1 : index;
  }

  private Slot slot(String node) {
    // Only this one: after a new list, all nodes have changed, and marking them takes long.
    if (ledger.changes.take(node)) {
      changed(node);
    }
    Slot known = slots.get(node);
    if (known != null) {
      return known;
    }
    // kube-scheduler may name a node that is gone, after we have removed it.
    if (!known(node)) {
      return new Slot(UNKNOWN);
    }
    var fresh = new Slot(freeIndexes.isEmpty() ? slots.size() : freeIndexes.remove());
    slots.put(node, fresh);
    return fresh;
  }

  private boolean known(String node) {
    return ledger.version(node) > 0;
  }

  /**
   * Marks nodes that have changed in the Ledger, {@link #MARKED_MAX} at once. The others are marked
   * on their next use; what is kept of one that is gone takes memory until a later call.
   */
  public void markChangedNodes() {
    ledger.changes.take(MARKED_MAX).forEach(this::changed);
  }

  /**
   * Applies a node's report. Equal measurements change nothing, unless a hold is fading out as the
   * mean follows, or a GPU was not measured.
   */
  public void measured(String node, LoadChange change) {
    Slot slot = slots.get(node);
    NodeGpus nodeGpus = slot == null ? null : slot.nodeGpus;
    boolean unchanged =
        change == LoadChange.NONE
            && nodeGpus != null
            && nodeGpus.fadesAtMs() == Long.MAX_VALUE
            && nodeGpus.gpus().stream().allMatch(GpuView::measured);
    if (!unchanged) {
      changed(node);
    }
  }

  /**
   * Learns from a report; must be called before the load cache gets its readings. They may change
   * every node.
   */
  public void learn(Event.Reported report, Map<String, LoadReading> readings) {
    if (cluster.learn(report, readings)) {
      // The expected use of newcomers has changed.
      slots.values().forEach(slot -> slot.changed = true);
    }
  }

  /** Marks a node as changed, or removes one that the Ledger does not know. */
  void changed(String node) {
    Slot slot = slots.get(node);
    if (slot != null && known(node)) {
      slot.changed = true;
    } else {
      forget(node);
    }
  }

  private long until(String node, NodeGpus nodeGpus, long nowMs) {
    boolean measured = nodeGpus.gpus().stream().anyMatch(GpuView::measured);
    long staleAtMs = measured ? loads.staleAtMs(node, nowMs) : Long.MAX_VALUE;
    return Math.min(nodeGpus.fadesAtMs(), staleAtMs);
  }

  public void forget(String node) {
    Slot slot = slots.remove(node);
    if (slot != null) {
      drop(slot.index);
      freeIndexes.add(slot.index);
    }
  }
}
