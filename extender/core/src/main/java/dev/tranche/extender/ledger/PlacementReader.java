package dev.tranche.extender.ledger;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.api.RequestBounds;
import dev.tranche.extender.placement.Placement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Derives the placement of a pod from its annotation, a node's echo or the kubelet's list. */
final class PlacementReader {
  /**
   * @param exact whether it is known share by share; otherwise it has at least what the pod holds
   */
  record Found(Placement placement, boolean exact) {
    boolean onTheGpusOf(Found other) {
      return placement.held().keySet().equals(other.placement().held().keySet());
    }
  }

  private PlacementReader() {}

  /**
   * Reads {@code tranche.dev/gpu}: one uuid for all shares, or one per share. Empty if it has more
   * than any node has GPUs; the pod then counts against each GPU of its node.
   */
  static Optional<Found> byAnnotation(PodFacts pod, int nodeReplicas) {
    @Nullable String value = pod.annotations().get(Names.GPU);
    if (value == null || value.isBlank()) {
      return Optional.empty();
    }
    List<String> uuids = List.of(value.strip().split("\\s*,\\s*", -1));
    if (uuids.size() > RequestBounds.GPUS_MAX) {
      return Optional.empty();
    }
    Demand demand = pod.demand(nodeReplicas);
    long shares = demand.containers().stream().mapToLong(Demand.Container::gpus).sum();
    if (uuids.size() == 1) {
      return Optional.of(new Found(onOne(demand, uuids.getFirst()), true));
    }
    return Optional.of(
        uuids.size() == shares && !demand.onOneGpu()
            ? new Found(inOrder(demand, uuids), true)
            : new Found(atMost(demand, uuids), false));
  }

  /**
   * Reads a node's echo. It has no init containers, so what they need beyond the others is added.
   */
  static Found byEcho(PodFacts pod, Placement echoed, int nodeReplicas) {
    Demand demand = pod.demand(nodeReplicas);
    boolean peak = demand.onOneGpu() && echoed.held().size() == 1;
    return new Found(peak ? onOne(demand, echoed.held().keySet().iterator().next()) : echoed, true);
  }

  private static Placement onOne(Demand demand, String uuid) {
    var containers = new ArrayList<Placement.Container>();
    for (Demand.Container c : Placement.assignableContainers(demand)) {
      var share = new Placement.Share(uuid, c.replicas());
      containers.add(new Placement.Container(c.name(), List.of(share)));
    }
    return new Placement(containers, Map.of(uuid, demand.peakReplicas()));
  }

  private static Placement inOrder(Demand demand, List<String> uuids) {
    var containers = new ArrayList<Placement.Container>();
    int at = 0;
    for (Demand.Container c : demand.containers()) {
      var shares = new ArrayList<Placement.Share>();
      for (Demand.Shares equal : c.shares()) {
        for (int i = 0; i < equal.count(); i++) {
          shares.add(new Placement.Share(uuids.get(at++), equal.replicas()));
        }
      }
      containers.add(new Placement.Container(c.name(), shares));
    }
    return Placement.of(containers);
  }

  /**
   * Places a split share. Only the kubelet knows how it is split, so each GPU may hold all of it.
   */
  private static Placement atMost(Demand demand, List<String> uuids) {
    var held = new HashMap<String, Integer>();
    int each = Math.min(demand.peakReplicas(), demand.replicasPerGpu());
    uuids.forEach(uuid -> held.put(uuid, each));
    return new Placement(List.of(), held);
  }

  /**
   * Reads the kubelet's list. It omits ordinary init containers and may come from the middle of an
   * admission, so only a complete list counts.
   *
   * @param read replicas per uuid by container
   * @param before GPUs that the pod was assumed to hold; the init containers' replicas may be on
   *     each
   */
  static Optional<Placement> byReadBack(
      PodFacts pod, Map<String, Map<String, Integer>> read, Set<String> before, int nodeReplicas) {
    Demand demand = pod.demand(nodeReplicas);
    var containers = new ArrayList<Placement.Container>();
    var held = new HashMap<String, Integer>();
    for (Demand.Container c : demand.containers()) {
      Map<String, Integer> devices = read.getOrDefault(c.name(), Map.of());
      int listedReplicas = devices.values().stream().mapToInt(Integer::intValue).sum();
      if (c.kind() != Demand.Kind.INIT && listedReplicas != c.replicas()) {
        return Optional.empty();
      }
      var shares = new ArrayList<Placement.Share>();
      devices.forEach((uuid, n) -> shares.add(new Placement.Share(uuid, n)));
      devices.forEach((uuid, n) -> held.merge(uuid, n, Integer::sum));
      containers.add(new Placement.Container(c.name(), shares));
    }
    if (held.isEmpty()) {
      return Optional.empty();
    }
    if (demand.onOneGpu()) {
      leftByInit(demand, held, before);
    }
    return Optional.of(new Placement(containers, held));
  }

  /**
   * Adds what init containers had beyond the others: it stays the pod's, on a GPU that it holds
   * anyway.
   */
  private static void leftByInit(Demand demand, Map<String, Integer> held, Set<String> before) {
    int listedReplicas = held.values().stream().mapToInt(Integer::intValue).sum();
    int left = demand.peakReplicas() - listedReplicas;
    if (left <= 0) {
      return;
    }
    boolean several = before.size() > 1 && before.containsAll(held.keySet());
    List<String> on = List.copyOf(several ? before : held.keySet());
    for (String uuid : several ? on : on.subList(0, 1)) {
      int most = Math.max(demand.replicasPerGpu(), held.getOrDefault(uuid, 0));
      held.merge(uuid, left, (has, more) -> Math.min(most, has + more));
    }
  }
}
