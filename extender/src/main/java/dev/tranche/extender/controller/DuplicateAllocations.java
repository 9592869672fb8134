package dev.tranche.extender.controller;

import dev.tranche.api.Printable;
import dev.tranche.api.node.Holding;
import dev.tranche.api.node.NodeReport;
import dev.tranche.extender.ledger.Hold;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Finds pods to which the kubelet has allocated the same replica, a defect of some kubelets
 * (kubernetes/kubernetes#137534), and writes an event for each of them. Pods that have ended do not
 * count, since a kubelet may still list them. Confined to the Ledger's loop.
 */
public final class DuplicateAllocations implements Controller {
  /** The node's list and the watch of pods may disagree for some seconds. */
  static final long AFTER_MS = 10_000;

  private final ControllerContext context;
  private final MistakeEvents events;

  /** By node, for nodes with such pods. */
  private final Map<String, Map<String, Suspect>> suspects = new HashMap<>();

  /**
   * A pod that shares a replica with another one.
   *
   * @param key {@code namespace/name}
   */
  private record Suspect(String key, String otherKey, String deviceId, long sinceMs) {
    /** Returns whether the owner of this pod may know the other one's name. */
    boolean mayName() {
      return namespace(key).equals(namespace(otherKey));
    }

    private static String namespace(String key) {
      return key.substring(0, key.indexOf('/'));
    }
  }

  public DuplicateAllocations(ControllerContext context, MistakeEvents events) {
    this.context = context;
    this.events = events;
  }

  @Override
  public void reported(String node, NodeReport report) {
    if (!report.getHoldingsKnown()) {
      return;
    }
    Map<String, Suspect> before = suspects.getOrDefault(node, Map.of());
    Map<String, Suspect> now = find(holders(node), report, before);
    before.keySet().stream().filter(uid -> !now.containsKey(uid)).forEach(this::remove);
    if (now.isEmpty()) {
      suspects.remove(node);
    } else {
      suspects.put(node, now);
    }
    now.forEach((uid, suspect) -> add(node, uid, suspect));
  }

  /** Returns the uids of the pods that hold GPUs on a node, by {@code namespace/name}. */
  private Map<String, String> holders(String node) {
    return context.core().ledger.holds(node).stream()
        .filter(Hold::isBound)
        .collect(Collectors.toMap(Hold::key, Hold::uid, (one, other) -> one));
  }

  private void add(String node, String uid, Suspect suspect) {
    boolean due = context.nowMs() - suspect.sinceMs() >= AFTER_MS;
    if (due
        && !events.knows(PodMistake.ALLOCATED_TWICE, uid)
        && context.events().tryAcquire(node)) {
      events.add(PodMistake.ALLOCATED_TWICE, suspect.key(), uid, () -> message(node, suspect));
    }
  }

  /** Returns the pods that share a replica, by uid. */
  private Map<String, Suspect> find(
      Map<String, String> uids, NodeReport report, Map<String, Suspect> before) {
    var holders = new HashMap<String, String>();
    var found = new HashMap<String, Suspect>();
    for (Holding holding : report.getHoldingsList()) {
      String key = holding.getNamespace() + "/" + holding.getPod();
      String uid = uids.get(key);
      if (uid == null) {
        continue;
      }
      for (String id : holding.getDeviceIdsList()) {
        String other = holders.putIfAbsent(holding.getResource() + "/" + id, key);
        String otherUid = other == null ? null : uids.get(other);
        if (other != null && otherUid != null && !other.equals(key)) {
          found.putIfAbsent(uid, suspect(uid, key, other, id, before));
          found.putIfAbsent(otherUid, suspect(otherUid, other, key, id, before));
        }
      }
    }
    return found;
  }

  private Suspect suspect(
      String uid, String key, String other, String id, Map<String, Suspect> before) {
    Suspect known = before.get(uid);
    return new Suspect(key, other, id, known == null ? context.nowMs() : known.sinceMs());
  }

  @Override
  public void nodeGone(String node) {
    Map<String, Suspect> gone = suspects.remove(node);
    if (gone != null) {
      gone.keySet().forEach(this::remove);
    }
  }

  private void remove(String uid) {
    events.remove(PodMistake.ALLOCATED_TWICE, uid);
  }

  private static String message(String node, Suspect suspect) {
    return "the kubelet of node %s gave replica %s to this pod and to %s: both use that replica, and it counts twice. Delete %s; see kubernetes/kubernetes#137534."
        .formatted(
            node,
            Printable.value(suspect.deviceId()),
            suspect.mayName()
                ? "pod " + Printable.of(suspect.otherKey(), 520)
                : "a pod of another namespace",
            suspect.mayName()
                ? "one of the two pods"
                : "this pod, or ask an administrator which of the two to delete");
  }
}
