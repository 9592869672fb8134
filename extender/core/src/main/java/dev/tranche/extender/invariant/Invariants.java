package dev.tranche.extender.invariant;

import dev.tranche.api.GpuPart;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/** Finds what does not hold in a cluster at one moment. */
public final class Invariants {
  private Invariants() {}

  /** Returns the invariants that need nothing of the extender and hold at each moment. */
  public static List<Finding> safety(ObservedCluster cluster) {
    var findings = new ArrayList<Finding>();
    overfull(cluster, Invariant.GPU_ALLOCATED_ONCE, "allocated", ObservedCluster.Pod::allocated)
        .forEach(findings::add);
    overfull(cluster, Invariant.GPU_PROMISED_ONCE, "promised", ObservedCluster.Pod::promisedStill)
        .forEach(findings::add);
    for (ObservedCluster.Pod pod : cluster.pods()) {
      if (!pod.ended() && pod.isElsewhere() && !pod.mayHaveAnotherGpu()) {
        findings.add(
            finding(
                Invariant.POD_ON_PROMISED_GPU,
                pod,
                "was promised %s and has %s"
                    .formatted(text(pod.promised()), text(pod.allocated()))));
      }
      if (!pod.ended() && pod.startsOnUnhealthyGpu()) {
        findings.add(
            finding(
                Invariant.NOTHING_ON_UNHEALTHY_GPU,
                pod,
                "was given an unhealthy GPU: %s".formatted(text(pod.allocated()))));
      }
    }
    return findings;
  }

  /** Returns the findings that may pass by themselves, too; see {@link Invariant#boundMs}. */
  public static List<Finding> all(ObservedCluster cluster) {
    List<Finding> findings = safety(cluster);
    Map<String, ObservedCluster.Hold> holds = new HashMap<>();
    cluster.holds().forEach(hold -> holds.put(hold.uid(), hold));
    Map<String, ObservedCluster.Pod> pods = new LinkedHashMap<>();
    cluster.pods().forEach(pod -> pods.put(pod.uid(), pod));
    for (ObservedCluster.Pod pod : pods.values()) {
      ObservedCluster.Hold hold = holds.get(pod.uid());
      if (pod.node() == null && !pod.ended() && pod.fitsOn() != null) {
        findings.add(
            finding(
                Invariant.WAITING_POD_IS_BOUND,
                pod,
                "waits and fits on node %s".formatted(pod.fitsOn())));
      }
      if (pod.node() != null && !pod.ended() && hold == null && !pod.promised().isEmpty()) {
        findings.add(
            finding(
                Invariant.BOUND_POD_HAS_HOLD,
                pod,
                "is on node %s, and the extender records no hold".formatted(pod.node())));
      }
      if (hold != null && !pod.allocated().isEmpty() && !hold.parts().equals(pod.allocated())) {
        findings.add(
            finding(
                Invariant.HOLD_MATCHES_KUBELET,
                pod,
                "has %s, and the extender records %s"
                    .formatted(text(pod.allocated()), text(hold.parts()))));
      }
    }
    for (ObservedCluster.Hold hold : holds.values()) {
      ObservedCluster.Pod pod = pods.get(hold.uid());
      if (pod == null || pod.ended()) {
        findings.add(
            new Finding(
                Invariant.HOLD_HAS_POD,
                hold.uid(),
                "the extender records %s on node %s for pod %s, which has ended"
                    .formatted(text(hold.parts()), hold.node(), hold.key())));
      }
    }
    return findings;
  }

  private static Finding finding(Invariant invariant, ObservedCluster.Pod pod, String what) {
    return new Finding(invariant, pod.uid(), "pod %s %s".formatted(pod.key(), what));
  }

  private static List<Finding> overfull(
      ObservedCluster cluster,
      Invariant invariant,
      String how,
      Function<ObservedCluster.Pod, Map<String, GpuPart>> parts) {
    Map<String, GpuPart> sums = new TreeMap<>();
    for (ObservedCluster.Pod pod : cluster.pods()) {
      if (!pod.ended()) {
        parts.apply(pod).forEach((uuid, part) -> sums.merge(uuid, part, GpuPart::plus));
      }
    }
    var findings = new ArrayList<Finding>();
    sums.forEach(
        (uuid, sum) -> {
          if (sum.exceedsOneGpu()) {
            findings.add(
                new Finding(invariant, uuid, "%s of GPU %s are %s".formatted(sum, uuid, how)));
          }
        });
    return findings;
  }

  private static String text(Map<String, GpuPart> parts) {
    return parts.isEmpty() ? "nothing" : new TreeMap<>(parts).toString();
  }
}
