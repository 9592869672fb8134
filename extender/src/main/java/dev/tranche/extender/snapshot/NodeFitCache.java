package dev.tranche.extender.snapshot;

import dev.tranche.api.Demand;
import dev.tranche.extender.ledger.Event;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.load.LoadCache;
import dev.tranche.extender.load.LoadCache.News;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.placement.GpuRequest;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.score.Policy;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What nodes could do for pods, remembered for as long as nothing about the node has changed. Pods
 * come in series that ask the same, and between two of them a few nodes of thousands change.
 * Confined to the one event loop.
 */
public final class NodeFitCache {
  /** Kinds of pods that are remembered, the latest asked ones. */
  static final int SHAPES_MAX = 24;

  /** The line of a node of which nothing is remembered. */
  private static final int UNKNOWN = Integer.MAX_VALUE;

  private final Ledger ledger;
  private final LoadCache loads;
  private final ClusterSnapshot snapshot;
  private final Map<String, Slot> slots = new HashMap<>();
  private final Map<Shape, Page> pages =
      new LinkedHashMap<>(SHAPES_MAX, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Shape, Page> eldest) {
          return size() > SHAPES_MAX;
        }
      };

  /** Lines of nodes that were forgotten. */
  private final Deque<Integer> freed = new ArrayDeque<>();

  public NodeFitCache(Ledger ledger, LoadCache loads, ClusterSnapshot snapshot) {
    this.ledger = ledger;
    this.loads = loads;
    this.snapshot = snapshot;
  }

  /** All that decides on a pod's placement, beside the node. */
  private record Shape(
      String resource,
      List<Demand.Request> requests,
      Map<String, String> annotations,
      Policy policy) {}

  /** What is remembered of one node. */
  private static final class Slot {
    /** Where the pages have it. */
    final int line;

    boolean changed = true;

    /** After that time alone has changed it. */
    long untilMs;

    ClusterSnapshot.@Nullable Seen seen;

    Slot(int line) {
      this.line = line;
    }
  }

  /**
   * The nodes as one kind of pod sees them. In columns, by the nodes' lines: to look at thousands
   * of nodes is to wait for memory, and each object less on the way is a wait less.
   */
  final class Page {
    private final PodFacts example;
    private final Policy policy;
    private final Map<Integer, GpuRequest> requestsByReplicas = new HashMap<>();

    /** Each holds for as long as its node looks the same, and is dropped then. */
    private @Nullable NodeFit[] evaluations = new NodeFit[0];

    private Page(PodFacts example, Policy policy) {
      this.example = example;
      this.policy = policy;
    }

    NodeFit of(String node, long nowMs) {
      Slot slot = slot(node);
      ClusterSnapshot.Seen seen = seen(slot, node, nowMs);
      NodeFit known = slot.line < evaluations.length ? evaluations[slot.line] : null;
      if (known != null) {
        return known;
      }
      GpuRequest ask =
          requestsByReplicas.computeIfAbsent(
              ledger.replicasPerGpu(node, example.resource()), example::ask);
      NodeFit evaluation = ClusterSnapshot.evaluate(node, ask, seen, policy);
      keep(slot.line, evaluation);
      return evaluation;
    }

    private void keep(int line, NodeFit evaluation) {
      if (line == UNKNOWN) {
        return;
      }
      if (line >= evaluations.length) {
        int lines = Math.max(line + 1, slots.size() + slots.size() / 4);
        evaluations = Arrays.copyOf(evaluations, lines);
      }
      evaluations[line] = evaluation;
    }

    private void drop(int line) {
      if (line < evaluations.length) {
        evaluations[line] = null;
      }
    }
  }

  /** For a pod that holds nothing yet. */
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

  /** The same list for as long as nothing in it differs. */
  public List<GpuView> gpus(String node, long nowMs) {
    return seen(node, nowMs).gpus();
  }

  /** The same picture for as long as nothing in it differs; it may be read on any thread. */
  public ClusterSnapshot.Seen seen(String node, long nowMs) {
    return seen(slot(node), node, nowMs);
  }

  private ClusterSnapshot.Seen seen(Slot slot, String node, long nowMs) {
    ClusterSnapshot.Seen before = slot.seen;
    if (before != null && !slot.changed && nowMs < slot.untilMs) {
      return before;
    }
    ClusterSnapshot.Seen fresh = snapshot.seen(node, ClusterSnapshot.Present.ALL, nowMs);
    if (before != null && before.equals(fresh)) {
      fresh = before;
    } else {
      drop(slot.line);
    }
    slot.seen = fresh;
    slot.changed = false;
    slot.untilMs = until(node, fresh, nowMs);
    return fresh;
  }

  /**
   * Results of an older snapshot are of no use, and would keep it in memory. Each kind of pod that
   * is not asked about for a while would keep one, with every GPU.
   */
  private void drop(int line) {
    pages.values().forEach(page -> page.drop(line));
  }

  private Slot slot(String node) {
    if (!ledger.changes.isEmpty()) {
      follow();
    }
    Slot known = slots.get(node);
    if (known != null) {
      return known;
    }
    // kube-scheduler may ask about a node that is gone, after we have forgotten it.
    if (!known(node)) {
      return new Slot(UNKNOWN);
    }
    var fresh = new Slot(freed.isEmpty() ? slots.size() : freed.remove());
    slots.put(node, fresh);
    return fresh;
  }

  private boolean known(String node) {
    return ledger.version(node) > 0;
  }

  /** What has changed in the Ledger is looked at anew when it is asked for. */
  public void follow() {
    ledger.changes.take().forEach(this::changed);
  }

  /**
   * A node has reported. Where it measures what it did before, nothing looks different, unless a
   * hold is fading into the mean or a GPU was not measured.
   */
  public void measured(String node, News news) {
    Slot slot = slots.get(node);
    ClusterSnapshot.Seen seen = slot == null ? null : slot.seen;
    boolean alike =
        news == News.NONE
            && seen != null
            && seen.fadesAtMs() == Long.MAX_VALUE
            && seen.gpus().stream().allMatch(GpuView::measured);
    if (!alike) {
      changed(node);
    }
  }

  /** Before the cache of loads is told of these readings; they may change every node. */
  public void learn(Event.Reported report, Map<String, LoadReading> readings) {
    if (snapshot.learn(report, readings)) {
      // What newcomers may use is expected otherwise now.
      slots.values().forEach(slot -> slot.changed = true);
    }
  }

  /** Something about a node is different now. */
  void changed(String node) {
    Slot slot = slots.get(node);
    if (slot != null && known(node)) {
      slot.changed = true;
    } else {
      forget(node);
    }
  }

  private long until(String node, ClusterSnapshot.Seen seen, long nowMs) {
    boolean measured = seen.gpus().stream().anyMatch(GpuView::measured);
    long staleAtMs = measured ? loads.staleAtMs(node, nowMs) : Long.MAX_VALUE;
    return Math.min(seen.fadesAtMs(), staleAtMs);
  }

  public void forget(String node) {
    Slot slot = slots.remove(node);
    if (slot != null) {
      drop(slot.line);
      freed.add(slot.line);
    }
  }

  /** Nodes that something is remembered of. */
  int nodes() {
    return slots.size();
  }

  /** Of all nodes for all kinds of pods; each is of its node's latest picture. */
  int evaluations() {
    return pages.values().stream()
        .mapToInt(page -> (int) Arrays.stream(page.evaluations).filter(Objects::nonNull).count())
        .sum();
  }

  public int shapes() {
    return pages.size();
  }
}
