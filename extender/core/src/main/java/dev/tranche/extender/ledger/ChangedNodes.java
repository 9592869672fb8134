package dev.tranche.extender.ledger;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * The nodes that have changed since they were taken. Of thousands of nodes, only a few change
 * between two calls, but a new list of all nodes and pods changes all of them.
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

  public int size() {
    return nodes.size();
  }

  /** Returns whether a node has changed, and takes it, so that this is said once. */
  public boolean take(String node) {
    return nodes.remove(node);
  }

  /** Takes so many of the changed nodes at most, and returns them. */
  public List<String> take(int max) {
    var changed = new ArrayList<String>(Math.min(max, nodes.size()));
    for (Iterator<String> oldest = nodes.iterator(); oldest.hasNext() && changed.size() < max; ) {
      changed.add(oldest.next());
      oldest.remove();
    }
    return changed;
  }
}
