package dev.tranche.extender.ledger;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Which nodes have changed since somebody last asked. Between two questions few of thousands do.
 */
public final class ChangedNodes {
  private final Set<String> nodes = new LinkedHashSet<>();
  private long last;

  /**
   * @return a number that no node has had before
   */
  long of(String node) {
    nodes.add(node);
    return ++last;
  }

  public boolean isEmpty() {
    return nodes.isEmpty();
  }

  /** Each is told once. */
  public List<String> take() {
    List<String> changed = List.copyOf(nodes);
    nodes.clear();
    return changed;
  }
}
