package dev.tranche.extender.selection;

import dev.tranche.api.Taint;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * The fields of a node by which pods are matched to it.
 *
 * @param taints only those that keep pods away
 */
public record NodeTraits(Map<String, String> labels, List<Taint> taints, boolean unschedulable) {
  /** A node with more labels is not judged. Few have fifty labels. */
  static final int LABELS_MAX = 256;

  static final int TAINTS_MAX = 64;

  public NodeTraits {
    labels = Map.copyOf(labels);
    taints = List.copyOf(taints);
  }

  /**
   * Interns the labels, since thousands of nodes have the same ones. Empty if the node has too many
   * labels or taints.
   */
  public static Optional<NodeTraits> of(
      Map<String, String> labels, List<Taint> taints, boolean unschedulable) {
    if (labels.size() > LABELS_MAX || taints.size() > TAINTS_MAX) {
      return Optional.empty();
    }
    Map<String, String> interned =
        labels.entrySet().stream()
            .collect(Collectors.toMap(e -> e.getKey().intern(), e -> e.getValue().intern()));
    List<Taint> kept = taints.stream().filter(Taint::keepsAway).toList();
    return Optional.of(new NodeTraits(interned, kept, unschedulable));
  }

  /** The traits of all nodes with GPUs. Thread-safe. */
  public static final class Table {
    private final Map<String, NodeTraits> byNode = new ConcurrentHashMap<>();

    /** Records a node as last seen; if {@code traits} is empty, the node is not judged. */
    public void put(String node, Optional<NodeTraits> traits) {
      traits.ifPresentOrElse(
          // A node is seen every few minutes, mostly unchanged: the older object is kept.
          now -> byNode.merge(node, now, (before, same) -> before.equals(same) ? before : same),
          () -> gone(node));
    }

    public void gone(String node) {
      byNode.remove(node);
    }

    /** Returns what the pod requires of its nodes, as far as a waiting pod's owner must know. */
    public PodSelection.Pin pin(PodSelection pod) {
      return pod.pin(byNode);
    }

    public int size() {
      return byNode.size();
    }

    /** Returns the filter of the pod's own fields. */
    public NodeFilter filter(PodSelection pod) {
      return node ->
          Optional.ofNullable(byNode.get(node)).flatMap(traits -> pod.excludes(node, traits));
    }
  }
}
