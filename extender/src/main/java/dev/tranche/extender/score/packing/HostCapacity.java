package dev.tranche.extender.score.packing;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * CPU and memory that nodes have left by the requests of their pods, others' pods included. Told by
 * informers' threads, asked by the loop. A pod is counted from when it is seen on a node until it
 * ends. As large as the cluster: one entry per node and per pod on a node.
 */
public final class HostCapacity {
  private record PodOnNode(String node, HostRequest request) {}

  private final Map<String, HostRequest> nodes = new HashMap<>();
  private final Map<String, HostRequest> taken = new HashMap<>();
  private final Map<String, PodOnNode> pods = new HashMap<>();

  public synchronized void node(String name, HostRequest allocatable) {
    nodes.put(name, allocatable);
  }

  public synchronized void nodeGone(String name) {
    nodes.remove(name);
  }

  /**
   * @param node null: bound to none
   */
  public synchronized void pod(
      String uid, @Nullable String node, boolean ended, HostRequest request) {
    PodOnNode before = pods.get(uid);
    PodOnNode now = node == null || ended ? null : new PodOnNode(node, request);
    // A pod is never unbound: news that say so are late.
    if ((now == null && !ended) || (now != null && now.equals(before))) {
      return;
    }
    podGone(uid);
    if (now != null) {
      pods.put(uid, now);
      taken.merge(now.node(), request, HostRequest::plus);
    }
  }

  public synchronized void podGone(String uid) {
    PodOnNode before = pods.remove(uid);
    if (before != null) {
      HostRequest left =
          taken.getOrDefault(before.node(), HostRequest.NONE).minus(before.request());
      if (left.equals(HostRequest.NONE)) {
        taken.remove(before.node());
      } else {
        taken.put(before.node(), left);
      }
    }
  }

  public synchronized boolean knows(String node) {
    return nodes.containsKey(node);
  }

  /** Nothing for a node that is not known. */
  public synchronized HostRequest free(String name) {
    return nodes
        .getOrDefault(name, HostRequest.NONE)
        .minus(taken.getOrDefault(name, HostRequest.NONE));
  }

  public synchronized int pods() {
    return pods.size();
  }
}
