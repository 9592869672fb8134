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
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads the placement of a pod from its annotations, a node's echo or the kubelet's list. */
final class PlacementReader {
  private static final Pattern COUNT = Pattern.compile("([1-9]\\d{0,4})/([1-9]\\d{0,4})");

  /**
   * @param exact whether it is known share by share; otherwise it has at least what the pod holds
   * @param replicasPerGpu R that it is counted in; 0 if not known, or not the same on all GPUs
   */
  record Found(Placement placement, boolean exact, int replicasPerGpu) {
    boolean onTheGpusOf(Found other) {
      return placement.held().keySet().equals(other.placement().held().keySet());
    }
  }

  /** An entry of {@code tranche.dev/gpu} and its one of {@code tranche.dev/granted-replicas}. */
  private record Entry(Placement.Share share, int of) {}

  private PlacementReader() {}

  /**
   * Reads {@code tranche.dev/gpu}: one uuid for all shares, or one per share. {@code
   * tranche.dev/granted-replicas} says how many replicas each has. If the two contradict each other
   * or the request, a single uuid is believed and the request tells the replicas. With several,
   * this is empty: the pod counts against each GPU of its node.
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
    List<Entry> entries = entries(uuids, pod.annotations().get(Names.GRANTED_REPLICAS));
    return byCounts(pod, entries)
        .or(
            () ->
                uuids.size() == 1
                    ? Optional.of(
                        new Found(onOne(pod.demand(nodeReplicas), uuids.getFirst()), true, 0))
                    : Optional.empty());
  }

  /** Returns no entry if the counts are missing or malformed, or not as many as the uuids. */
  private static List<Entry> entries(List<String> uuids, @Nullable String counts) {
    String[] each = counts == null ? new String[0] : counts.split(",", -1);
    var entries = new ArrayList<Entry>();
    for (int i = 0; i < each.length && each.length == uuids.size(); i++) {
      Matcher count = COUNT.matcher(each[i]);
      if (!count.matches()) {
        return List.of();
      }
      int replicas = Integer.parseInt(count.group(1));
      entries.add(
          new Entry(new Placement.Share(uuids.get(i), replicas), Integer.parseInt(count.group(2))));
    }
    return entries;
  }

  /** Reads what was decided. Empty if the entries contradict what the pod requests. */
  private static Optional<Found> byCounts(PodFacts pod, List<Entry> entries) {
    var shares = entries.stream().map(Entry::share).toList();
    var counts = entries.stream().map(Entry::of).distinct().toList();
    Demand demand = pod.demand(counts.stream().mapToInt(of -> of).max().orElse(1));
    Placement all = Placement.of(List.of(new Placement.Container("", shares)));
    int total = shares.stream().mapToInt(Placement.Share::replicas).sum();
    boolean stamped = pod.stampedReplicas().isPresent();
    boolean possible =
        total == demand.peakReplicas()
            && entries.stream()
                .allMatch(e -> all.held().getOrDefault(e.share().uuid(), 0) <= e.of())
            && (!stamped || counts.equals(List.of(demand.replicasPerGpu())));
    if (entries.isEmpty() || !possible) {
      return Optional.empty();
    }
    int of = counts.size() == 1 ? counts.getFirst() : 0;
    if (all.held().size() == 1) {
      return Optional.of(new Found(onOne(demand, shares.getFirst().uuid()), true, of));
    }
    return demand.onOneGpu()
        ? Optional.of(new Found(new Placement(List.of(), all.held()), false, of))
        : inOrder(demand, shares).map(place -> new Found(place, true, of));
  }

  private static Placement onOne(Demand demand, String uuid) {
    var containers = new ArrayList<Placement.Container>();
    for (Demand.Container c : Placement.assignableContainers(demand)) {
      var share = new Placement.Share(uuid, c.replicas());
      containers.add(new Placement.Container(c.name(), List.of(share)));
    }
    return new Placement(containers, Map.of(uuid, demand.peakReplicas()));
  }

  /** Gives the shares to the containers in order; empty if they do not add up. */
  private static Optional<Placement> inOrder(Demand demand, List<Placement.Share> shares) {
    var containers = new ArrayList<Placement.Container>();
    int at = 0;
    for (Demand.Container c : demand.containers()) {
      int from = at;
      int left = c.replicas();
      while (left > 0 && at < shares.size()) {
        left -= shares.get(at++).replicas();
      }
      if (left != 0) {
        return Optional.empty();
      }
      containers.add(new Placement.Container(c.name(), shares.subList(from, at)));
    }
    return at == shares.size() ? Optional.of(Placement.of(containers)) : Optional.empty();
  }

  /**
   * Reads the kubelet's list. It omits ordinary init containers and may come from the middle of an
   * admission, so only a complete list counts.
   *
   * @param read replicas per uuid by container; that of no name has what init containers have left,
   *     if the node knows it
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
      if (c.kind() != Demand.Kind.INIT && sum(devices) != c.replicas()) {
        return Optional.empty();
      }
      var shares = new ArrayList<Placement.Share>();
      devices.forEach((uuid, n) -> shares.add(new Placement.Share(uuid, n)));
      devices.forEach((uuid, n) -> held.merge(uuid, n, Integer::sum));
      containers.add(new Placement.Container(c.name(), shares));
    }
    Map<String, Integer> left = read.getOrDefault("", Map.of());
    if (sum(held) + sum(left) == demand.peakReplicas()) {
      left.forEach((uuid, n) -> held.merge(uuid, n, Integer::sum));
    }
    if (held.isEmpty()) {
      return Optional.empty();
    }
    if (demand.onOneGpu()) {
      leftByInit(demand, held, before);
    }
    return Optional.of(new Placement(containers, held));
  }

  private static int sum(Map<String, Integer> replicas) {
    return replicas.values().stream().mapToInt(Integer::intValue).sum();
  }

  /**
   * Adds what init containers had beyond the others: it stays the pod's, on a GPU that it holds
   * anyway.
   */
  private static void leftByInit(Demand demand, Map<String, Integer> held, Set<String> before) {
    int left = demand.peakReplicas() - sum(held);
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
