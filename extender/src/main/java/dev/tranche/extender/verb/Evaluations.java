package dev.tranche.extender.verb;

import dev.tranche.api.Demand;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.load.LoadCache;
import dev.tranche.extender.placement.Ask;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.score.Policy;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What nodes could do for pods, remembered for as long as nothing about the node has changed. Pods
 * come in series that ask the same, and between two of them a few nodes of thousands change.
 * Confined to the one event loop.
 */
public final class Evaluations {
  /** Kinds of pods that are remembered, the latest asked ones. */
  static final int SHAPES_MAX = 24;

  /** A GPU with young holds is looked at anew this often, since their weight fades with time. */
  private static final long YOUNG_MS = 250;

  private final Ledger ledger;
  private final LoadCache loads;
  private final Fleet fleet;
  private final Map<String, Cell> cells = new HashMap<>();
  private final Map<Shape, Page> pages =
      new LinkedHashMap<>(SHAPES_MAX, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Shape, Page> eldest) {
          return size() > SHAPES_MAX;
        }
      };

  Evaluations(Ledger ledger, LoadCache loads, Fleet fleet) {
    this.ledger = ledger;
    this.loads = loads;
    this.fleet = fleet;
  }

  /** All that decides on a pod's placement, beside the node. */
  private record Shape(
      String resource,
      List<Demand.Request> requests,
      Map<String, String> annotations,
      Policy policy) {}

  /**
   * A node's GPUs at one moment.
   *
   * @param ledgerVersion and {@code loadVersion}: of what it was made from
   * @param untilMs after that time alone has changed it
   * @param gpus the same list for as long as nothing in it differs
   */
  private record Cell(long ledgerVersion, long loadVersion, long untilMs, Fleet.Seen gpus) {}

  /** The evaluation of one node that holds for as long as its GPUs are the same list. */
  private record Kept(Fleet.Seen gpus, Evaluation evaluation) {}

  /** The nodes as one kind of pod sees them. */
  final class Page {
    private final PodFacts example;
    private final Policy policy;
    private final Map<Integer, Ask> asks = new HashMap<>();
    private final Map<String, Kept> byNode = new HashMap<>();

    private Page(PodFacts example, Policy policy) {
      this.example = example;
      this.policy = policy;
    }

    @SuppressWarnings("ReferenceEquality") // The same list is the sign that nothing has changed.
    Evaluation of(String node, long nowMs) {
      Fleet.Seen seen = seen(node, nowMs);
      Kept kept = byNode.get(node);
      if (kept != null && kept.gpus == seen) {
        return kept.evaluation;
      }
      Ask ask = asks.computeIfAbsent(ledger.replicasPerGpu(node, example.resource()), example::ask);
      Evaluation evaluation = Fleet.evaluate(node, ask, seen, policy);
      byNode.put(node, new Kept(seen, evaluation));
      return evaluation;
    }
  }

  /** For a pod that holds nothing yet. */
  Page page(PodFacts pod, Policy policy) {
    var shape = new Shape(pod.resource(), pod.requests(), pod.annotations(), policy);
    return pages.computeIfAbsent(shape, s -> new Page(pod, policy));
  }

  /** The same list for as long as nothing in it differs. */
  List<GpuView> gpus(String node, long nowMs) {
    return seen(node, nowMs).gpus();
  }

  /** The same picture for as long as nothing in it differs; it may be read on any thread. */
  Fleet.Seen seen(String node, long nowMs) {
    Cell cell = cells.get(node);
    long ledgerVersion = ledger.version(node);
    long loadVersion = loads.version(node);
    if (cell != null
        && cell.ledgerVersion == ledgerVersion
        && cell.loadVersion == loadVersion
        && nowMs < cell.untilMs) {
      return cell.gpus;
    }
    Fleet.Seen fresh = fleet.seen(node, Fleet.Present.ALL, nowMs);
    Fleet.Seen gpus = cell != null && cell.gpus.equals(fresh) ? cell.gpus : fresh;
    cells.put(node, new Cell(ledgerVersion, loadVersion, until(node, gpus, nowMs), gpus));
    return gpus;
  }

  private long until(String node, Fleet.Seen seen, long nowMs) {
    if (seen.young()) {
      return nowMs + YOUNG_MS;
    }
    boolean measured = seen.gpus().stream().anyMatch(GpuView::measured);
    return measured ? loads.staleAtMs(node, nowMs) : Long.MAX_VALUE;
  }

  void forget(String node) {
    cells.remove(node);
    pages.values().forEach(page -> page.byNode.remove(node));
  }

  public int shapes() {
    return pages.size();
  }
}
