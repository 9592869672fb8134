package dev.tranche.extender.explain;

import java.util.ArrayList;
import java.util.List;

/**
 * Advice for kube-scheduler's own reasons, such as a node's totals, labels and taints. They come
 * before ours: the extender never sees a node that they exclude.
 */
public final class SchedulerAdvice {
  private SchedulerAdvice() {}

  /**
   * One sentence for each reason that is known.
   *
   * @param message of the pod's condition {@code PodScheduled}
   * @param resource that the pod asks for
   */
  public static List<String> of(String message, String resource) {
    var advice = new ArrayList<String>();
    if (message.contains("Insufficient " + resource)) {
      advice.add(
          "Insufficient %s: a node's allocatable less what its pods request is less than this pod requests. Wait until pods end, request less, or add a GPU node; kubectl describe node shows both sums."
              .formatted(resource));
    }
    if (message.contains("Insufficient cpu")
        || message.contains("Insufficient memory")
        || message.contains("Too many pods")) {
      advice.add(
          "CPU, memory or the number of pods: GPUs are not what is missing on those nodes. Reduce these requests, or add a node.");
    }
    if (message.contains("didn't match Pod's node affinity/selector")) {
      advice.add(
          "node affinity/selector: see the pod's spec for what it names. Tranche adds tranche.dev/replicas-per-gpu, nvidia.com/gpu.memory and nvidia.com/gpu.product to it; if the replicas per GPU have changed since, recreate the pod.");
    }
    if (message.contains("untolerated taint")) {
      advice.add("untolerated taint: add the toleration that the message names to the pod.");
    }
    return advice;
  }
}
