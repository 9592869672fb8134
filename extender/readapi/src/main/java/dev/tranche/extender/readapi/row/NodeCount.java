package dev.tranche.extender.readapi.row;

import dev.tranche.extender.explain.Refusals;
import java.util.List;

/** How many nodes are left out for one reason. */
public record NodeCount(String message, int nodes) {
  static List<NodeCount> of(Refusals refusals) {
    return refusals.byReason().entrySet().stream()
        .map(each -> new NodeCount(each.getKey().sentence, each.getValue()))
        .toList();
  }
}
