package dev.tranche.extender.ledger;

import dev.tranche.api.GpuPart;
import dev.tranche.extender.invariant.ObservedCluster;
import dev.tranche.extender.ledger.PlacementReader.Found;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Sets the kubelet's list of a node beside the annotations of its pods and the Ledger's holds, so
 * that the invariants can be judged.
 */
final class NodeObserver {
  /** Beyond so many different R on one node, parts are rounded down: a node may name any R. */
  private static final int EXACT_MAX = 32;

  private static final int ROUNDED_PARTS = 1 << 20;

  private final NodeEntry entry;
  private final KeptPods pods;
  private final Set<Integer> exact = new HashSet<>();

  private NodeObserver(NodeEntry entry, KeptPods pods) {
    this.entry = entry;
    this.pods = pods;
  }

  /** The health at a pod's start and the nodes where a waiting pod would fit are not known here. */
  static ObservedCluster observe(NodeEntry entry, KeptPods pods) {
    return new NodeObserver(entry, pods).observe();
  }

  private ObservedCluster observe() {
    Map<String, Map<String, GpuPart>> listed = listed();
    var observed = new ArrayList<ObservedCluster.Pod>();
    var holds = new ArrayList<ObservedCluster.Hold>();
    for (Hold hold : entry.holds.values()) {
      Map<String, GpuPart> has = Map.of();
      if (entry.listCovers(hold) && listed.containsKey(hold.key())) {
        has = listed.remove(hold.key());
      }
      Map<String, GpuPart> held = parts(hold, hold.held());
      holds.add(
          new ObservedCluster.Hold(
              hold.uid(), hold.key(), entry.name, covers(held, has) ? has : held));
      PodFacts pod = pods.get(hold.uid());
      if (pod != null) {
        observed.add(observed(pod, promised(pod, hold), has));
      }
    }
    // The kubelet lists a pod that has ended here, or that no watch has shown yet.
    listed.forEach((key, has) -> observed.add(onlyListed(key, has)));
    return new ObservedCluster(observed, holds);
  }

  /** Returns by pod what the kubelet has given; nothing for a node that is silent. */
  private Map<String, Map<String, GpuPart>> listed() {
    var listed = new HashMap<String, Map<String, GpuPart>>();
    NodeState state = entry.state;
    if (state == null || !entry.live || !state.holdingsKnown()) {
      return listed;
    }
    state
        .holdings()
        .forEach(
            (key, containers) -> {
              var parts = new HashMap<String, GpuPart>();
              for (Map<String, Integer> devices : containers.values()) {
                devices.forEach(
                    (uuid, n) -> parts.merge(uuid, part(n, grantedIn(key, uuid)), GpuPart::plus));
              }
              listed.put(key, parts);
            });
    return listed;
  }

  /** Returns the R that a pod's replicas were granted in; 0 if not known. */
  private int grantedIn(String key, String uuid) {
    NodeState state = entry.state;
    if (state == null) {
      return 0;
    }
    int granted = state.grant(key, uuid).of();
    return granted > 0 ? granted : entry.gpu(uuid).map(GpuFacts::replicas).orElse(0);
  }

  private GpuPart part(int replicas, int countedIn) {
    if (countedIn <= 0) {
      return GpuPart.NONE;
    }
    if (exact.size() < EXACT_MAX) {
      exact.add(countedIn);
    }
    return exact.contains(countedIn)
        ? GpuPart.of(replicas, countedIn)
        : GpuPart.of(
            Math.min(Integer.MAX_VALUE, (long) replicas * ROUNDED_PARTS / countedIn),
            ROUNDED_PARTS);
  }

  /**
   * Returns by GPU what the annotation promises. Of a share that is split over GPUs it says only
   * which they are.
   */
  private Map<String, GpuPart> promised(PodFacts pod, Hold hold) {
    return pod.node() == null
        ? Map.of()
        : PlacementReader.byAnnotation(pod, entry.replicasPerGpu(pod.resource()))
            .map(found -> found.exact() ? parts(hold, found.placement().held()) : named(found))
            .orElse(Map.of());
  }

  private static Map<String, GpuPart> named(Found found) {
    return found.placement().held().keySet().stream()
        .collect(Collectors.toMap(uuid -> uuid, uuid -> GpuPart.NONE));
  }

  private Map<String, GpuPart> parts(Hold hold, Map<String, Integer> held) {
    var parts = new HashMap<String, GpuPart>();
    held.forEach(
        (uuid, n) -> {
          Optional<Integer> countedIn = entry.gpu(uuid).map(gpu -> entry.countedIn(hold, gpu));
          parts.put(uuid, part(n, countedIn.orElse(hold.replicasPerGpu())));
        });
    return parts;
  }

  /** The kubelet's list omits what an init container had beyond the others. */
  private static boolean covers(Map<String, GpuPart> held, Map<String, GpuPart> has) {
    return held.keySet().equals(has.keySet())
        && has.entrySet().stream()
            .allMatch(
                of ->
                    held.getOrDefault(of.getKey(), GpuPart.NONE).value() >= of.getValue().value());
  }

  private static ObservedCluster.Pod observed(
      PodFacts pod, Map<String, GpuPart> promised, Map<String, GpuPart> has) {
    return new ObservedCluster.Pod(
        pod.uid(), pod.key(), pod.node(), pod.ended(), promised, has, false, false, null);
  }

  private ObservedCluster.Pod onlyListed(String key, Map<String, GpuPart> has) {
    return new ObservedCluster.Pod(key, key, entry.name, false, Map.of(), has, false, false, null);
  }

  /** A pod on a node that the Ledger records nothing of. */
  static ObservedCluster.Pod withoutHold(PodFacts pod) {
    return observed(
        pod,
        PlacementReader.byAnnotation(pod, 1).map(NodeObserver::named).orElse(Map.of()),
        Map.of());
  }
}
