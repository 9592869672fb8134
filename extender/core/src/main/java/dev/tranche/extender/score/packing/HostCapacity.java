package dev.tranche.extender.score.packing;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * CPU and memory that nodes have left after the requests of all their pods. Informers' threads
 * write it, and the loop reads it. A pod counts from when it is seen on a node until it ends. It is
 * as large as the cluster: one entry per node and per pod on a node.
 */
public final class HostCapacity {
  private record PodOnNode(String node, HostRequest request) {}

  private final Map<String, HostRequest> nodes = new HashMap<>();
  private final Map<String, PodOnNode> pods = new HashMap<>();

  /** What nodes have left: thousands are read for each pod. Of unknown ones, it is below 0. */
  private final Map<String, HostRequest> free = new HashMap<>();

  public synchronized void node(String name, HostRequest allocatable) {
    nodeGone(name);
    nodes.put(name, allocatable);
    add(name, allocatable);
  }

  public synchronized void nodeGone(String name) {
    HostRequest before = nodes.remove(name);
    if (before != null) {
      add(name, HostRequest.NONE.minus(before));
    }
  }

  private void add(String node, HostRequest more) {
    HostRequest sum = free(node).plus(more);
    if (sum.equals(HostRequest.NONE)) {
      free.remove(node);
    } else {
      free.put(node, sum);
    }
  }

  /**
   * @param node null if the pod is not bound
   */
  public synchronized void pod(
      String uid, @Nullable String node, boolean ended, HostRequest request) {
    PodOnNode before = pods.get(uid);
    PodOnNode now = node == null || ended ? null : new PodOnNode(node, request);
    // A pod is never unbound: updates that say so are late.
    if ((now == null && !ended) || (now != null && now.equals(before))) {
      return;
    }
    podGone(uid);
    if (now != null) {
      pods.put(uid, now);
      add(now.node(), HostRequest.NONE.minus(request));
    }
  }

  public synchronized void podGone(String uid) {
    PodOnNode before = pods.remove(uid);
    if (before != null) {
      add(before.node(), before.request());
    }
  }

  public synchronized boolean knows(String node) {
    return nodes.containsKey(node);
  }

  /** Returns what the node has left; an unknown node has nothing. */
  public synchronized HostRequest free(String name) {
    return free.getOrDefault(name, HostRequest.NONE);
  }

  /** Returns what the node has left when these pods are gone; empty for an unknown node. */
  public synchronized Optional<HostRequest> freeWithout(String name, Collection<String> uids) {
    HostRequest free = free(name);
    for (String uid : uids) {
      PodOnNode pod = pods.get(uid);
      if (pod != null && pod.node().equals(name)) {
        free = free.plus(pod.request());
      }
    }
    return knows(name) ? Optional.of(free) : Optional.empty();
  }

  public synchronized int pods() {
    return pods.size();
  }
}
