package dev.tranche.extender.ledger;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The nodes that have changed since the last call of {@link #take}. Of thousands of nodes, only a
 * few change between two calls.
 */
public final class ChangedNodes {
  private final Set<String> nodes = new LinkedHashSet<>();
  private long last;

  /**
   * Records that a node has changed.
   *
   * @return a version number that no node has had before
   */
  long of(String node) {
    nodes.add(node);
    return ++last;
  }

  public boolean isEmpty() {
    return nodes.isEmpty();
  }

  /** Returns the changed nodes and clears them, so that each is returned once. */
  public List<String> take() {
    List<String> changed = List.copyOf(nodes);
    nodes.clear();
    return changed;
  }
}
