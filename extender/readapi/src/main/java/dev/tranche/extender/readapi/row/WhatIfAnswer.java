package dev.tranche.extender.readapi.row;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import dev.tranche.extender.explain.WhatIf;
import dev.tranche.extender.explain.WhatIf.Place;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.snapshot.NodeFit;
import java.time.Instant;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/** Where a pod would go. */
public record WhatIfAnswer(
    Instant time,
    String namespace,
    String name,
    String resource,
    String policy,
    boolean fits,
    @Nullable Waiting waiting,
    @Nullable String node,
    @Nullable Integer score,
    @Nullable List<GpuShare> gpus,
    @JsonUnwrapped CandidateNodes nodes,
    List<NodeCount> excludedByReason,
    int excludedCount,
    @Nullable Counted count) {
  /** Fitting nodes that are shown; the others are only counted. */
  static final int NODES_MAX = 8;

  /** How many of the pod fit. */
  public record Counted(int requested, int fit, boolean complete, List<PodsOnNode> nodes) {
    private static Counted of(int requested, WhatIf.Answer found) {
      Map<String, Integer> byNode = new LinkedHashMap<>();
      found.places().forEach(place -> byNode.merge(place.fit().node(), 1, Integer::sum));
      List<PodsOnNode> nodes =
          byNode.entrySet().stream()
              .map(each -> new PodsOnNode(each.getKey(), each.getValue()))
              .toList();
      return new Counted(requested, found.places().size(), !found.late(), nodes);
    }
  }

  /** How many of the pod fit on one node. */
  public record PodsOnNode(String node, int pods) {}

  /**
   * @param count number of pods that was requested; empty if the request has none
   */
  public static WhatIfAnswer of(PodFacts pod, WhatIf.Answer found, OptionalInt count, Instant now) {
    Optional<Place> place = found.places().stream().findFirst();
    var shown =
        found.fitting().stream()
            .sorted(Comparator.comparingInt(NodeFit::headroom).reversed())
            .limit(NODES_MAX)
            .map(fit -> Candidate.of(fit, fit.headroom()))
            .toList();
    return new WhatIfAnswer(
        now,
        pod.namespace(),
        pod.name(),
        pod.resource(),
        found.policy().toString(),
        place.isPresent(),
        found.waits().map(cause -> Waiting.of(cause, Optional.empty())).orElse(null),
        place.map(first -> first.fit().node()).orElse(null),
        place.map(Place::score).orElse(null),
        place.map(WhatIfAnswer::shares).orElse(null),
        CandidateNodes.of(shown, found.fitting().size(), found.refused()),
        found.nodes().excluded().entrySet().stream()
            .map(each -> new NodeCount("by " + each.getKey().words, each.getValue()))
            .toList(),
        found.nodes().excludedCount(),
        count.isEmpty() ? null : Counted.of(count.getAsInt(), found));
  }

  private static List<GpuShare> shares(Place place) {
    Map<String, Integer> held = place.placement().held();
    return place.fit().gpus().stream()
        .filter(gpu -> held.containsKey(gpu.uuid()))
        .map(
            gpu ->
                new GpuShare(
                    gpu.uuid(),
                    gpu.index(),
                    held.getOrDefault(gpu.uuid(), 0),
                    gpu.replicas(),
                    null))
        .toList();
  }
}
