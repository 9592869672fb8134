package dev.tranche.extender.selection;

import static java.util.stream.Collectors.joining;

import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The reasons why kube-scheduler never offers a node for a pod, in the order in which they are
 * checked.
 */
public enum Exclusion {
  NODE_NAME("spec.nodeName"),
  NODE_SELECTOR("nodeSelector"),
  NODE_AFFINITY("required node affinity"),
  UNSCHEDULABLE("spec.unschedulable of the node"),
  TAINTS("taints not tolerated");

  /** The words that a page shows after "by". */
  public final String words;

  Exclusion(String words) {
    this.words = words;
  }

  /**
   * Returns why all of these nodes are excluded, in words; empty if one is not, or if there is
   * none.
   */
  public static String ofAll(Stream<Optional<Exclusion>> nodes) {
    List<Optional<Exclusion>> different = nodes.distinct().toList();
    return different.contains(Optional.<Exclusion>empty())
        ? ""
        : different.stream()
            .flatMap(Optional::stream)
            .sorted()
            .map(why -> why.words)
            .collect(joining(" and "));
  }
}
