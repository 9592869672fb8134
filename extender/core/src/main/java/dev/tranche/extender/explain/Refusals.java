package dev.tranche.extender.explain;

import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.snapshot.NodeFit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * The nodes that were refused, for people: the few that came nearest to fitting, and the number of
 * nodes per reason.
 *
 * @param nearest at most {@link #NODES_MAX}, the nearest to fitting first
 * @param byReason in the order of the checks
 */
public record Refusals(List<NodeFit> nearest, int count, Map<Reason, Integer> byReason) {
  public static final int NODES_MAX = 8;
  public static final Refusals NONE = new Refusals(List.of(), 0, Map.of());

  /** Leaves out the nodes that fit. */
  public static Refusals of(Collection<NodeFit> fits) {
    var shown = new EnumMap<Reason, List<NodeFit>>(Reason.class);
    var nodes = new EnumMap<Reason, int[]>(Reason.class);
    int count = 0;
    for (NodeFit evaluation : fits) {
      Reason reason = evaluation.refusal();
      if (reason != null) {
        count++;
        nodes.computeIfAbsent(reason, r -> new int[1])[0]++;
        List<NodeFit> few = shown.computeIfAbsent(reason, r -> new ArrayList<>());
        if (few.size() < NODES_MAX) {
          few.add(evaluation);
        }
      }
    }
    var counts = new EnumMap<Reason, Integer>(Reason.class);
    nodes.forEach((reason, number) -> counts.put(reason, number[0]));
    // The reasons are in the order of the checks, so the last one is the nearest to fitting.
    List<NodeFit> nearest =
        new ArrayList<>(shown.values())
            .reversed().stream().flatMap(List::stream).limit(NODES_MAX).toList();
    return new Refusals(nearest, count, Collections.unmodifiableMap(counts));
  }
}
