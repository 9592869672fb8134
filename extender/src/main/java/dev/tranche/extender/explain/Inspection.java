package dev.tranche.extender.explain;

import dev.tranche.extender.ledger.Hold;
import dev.tranche.extender.ledger.Ledger;
import dev.tranche.extender.ledger.NodeView;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.load.LoadCache;
import dev.tranche.extender.load.LoadReading;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.snapshot.NodeFitCache;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * A picture of all that the extender knows, taken on its loop and read elsewhere.
 *
 * @param waitingPods rejected ones that are woken when a GPU has room
 * @param pods that ask for GPUs, in no order
 */
public record Inspection(
    List<Node> nodes,
    Map<String, Integer> holdsByStage,
    int waitingPods,
    List<PodFacts> pods,
    Instant at) {
  public Inspection(List<Node> nodes, Map<String, Integer> holdsByStage, int waitingPods) {
    this(nodes, holdsByStage, waitingPods, List.of(), Instant.EPOCH);
  }

  public record Node(
      String name, NodeView.Availability availability, List<Gpu> gpus, List<Hold> unplaced) {}

  /**
   * @param smMean that of the last reading; its half-life is the node plugin's
   * @param ageMs of the last reading; -1 without one
   * @param formerReplicas R that a pod's share was sized for, by uid, where it is not the GPU's R
   *     of now
   * @param reading the last one, for what single pods use
   */
  public record Gpu(
      GpuView view,
      int strayReplicas,
      double smMean,
      long memoryUsedBytes,
      long ageMs,
      List<Hold> holds,
      Map<String, Integer> formerReplicas,
      Optional<LoadReading> reading) {
    public Gpu(
        GpuView view,
        int strayReplicas,
        double smMean,
        long memoryUsedBytes,
        long ageMs,
        List<Hold> holds,
        Map<String, Integer> formerReplicas) {
      this(
          view,
          strayReplicas,
          smMean,
          memoryUsedBytes,
          ageMs,
          holds,
          formerReplicas,
          Optional.empty());
    }

    /** SM utilization by the last reading alone. */
    public double sm() {
      return reading.map(LoadReading::sm).orElse(smMean);
    }
  }

  /**
   * @param waitingPods rejected ones that are woken when a GPU has room
   */
  public static Inspection of(
      Ledger ledger, LoadCache loads, NodeFitCache evaluations, int waitingPods, long nowMs) {
    var nodes = new ArrayList<Node>();
    var stages = new TreeMap<String, Integer>();
    for (String stage : List.of("tentative", "binding", "bound", "confirmed")) {
      stages.put(stage, 0);
    }
    for (String name : ledger.nodes().stream().sorted().toList()) {
      Node node = node(ledger, loads, evaluations, name, nowMs);
      ledger.holds(name).forEach(h -> stages.merge(stage(h), 1, Integer::sum));
      if (!node.gpus().isEmpty() || !node.unplaced().isEmpty()) {
        nodes.add(node);
      }
    }
    return new Inspection(
        nodes,
        stages,
        waitingPods,
        List.copyOf(ledger.pods()),
        Instant.now().truncatedTo(ChronoUnit.MILLIS));
  }

  /** As it is called in metrics and pages. */
  public static String stage(Hold hold) {
    return hold.confirmed() ? "confirmed" : hold.stage().name().toLowerCase(java.util.Locale.ROOT);
  }

  private static Node node(
      Ledger ledger, LoadCache loads, NodeFitCache evaluations, String name, long nowMs) {
    NodeView view = ledger.view(name, hold -> true, nowMs);
    var gpus = new ArrayList<Gpu>();
    // The same that the verbs look at: ones of its own would be a twentieth of the heap.
    List<GpuView> views = evaluations.gpus(name, nowMs);
    var holds = ledger.holds(name);
    for (int i = 0; i < views.size(); i++) {
      String uuid = views.get(i).uuid();
      Optional<LoadReading> reading = loads.get(name, uuid);
      List<Hold> here = holds.stream().filter(h -> h.held().containsKey(uuid)).toList();
      gpus.add(
          new Gpu(
              views.get(i),
              view.gpus().get(i).strayReplicas(),
              reading.map(LoadReading::smMean).orElse(0.0),
              reading.map(LoadReading::memoryUsedBytes).orElse(0L),
              reading.map(r -> r.ageMs(nowMs)).orElse(-1L),
              here,
              formerReplicas(ledger, here, views.get(i).replicas()),
              reading));
    }
    return new Node(
        name,
        view.availability(),
        gpus,
        holds.stream().filter(h -> h.placement() == null).toList());
  }

  private static Map<String, Integer> formerReplicas(
      Ledger ledger, List<Hold> holds, int replicas) {
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
