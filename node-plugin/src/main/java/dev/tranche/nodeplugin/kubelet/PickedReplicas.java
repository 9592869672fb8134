package dev.tranche.nodeplugin.kubelet;

import dev.tranche.nodeplugin.gpu.Replicas;
import java.util.Collection;

/**
 * Which replicas the kubelet has picked from: those of now, or those of the config before, if it
 * picked when it had not heard of the new one yet. To refuse such a pick would end the pod.
 * Confined to one thread.
 */
final class PickedReplicas {
  /** The kubelet asks for its pick at once; what it tells us later is an error of its own. */
  static final int REPLACED_MS = 5_000;

  private Replicas now;
  private Replicas before;
  private long replacedAtMs;

  PickedReplicas(Replicas first) {
    this.now = first;
    this.before = first;
  }

  void replicas(Replicas next, long nowMs) {
    if (!next.sharing().equals(now.sharing())) {
      before = now;
      replacedAtMs = nowMs;
    }
    now = next;
  }

  Replicas from(Collection<String> ids, long nowMs) {
    boolean justReplaced = nowMs - replacedAtMs < REPLACED_MS;
    return justReplaced && !makes(now, ids) && makes(before, ids) ? before : now;
  }

  private static boolean makes(Replicas replicas, Collection<String> ids) {
    return ids.stream().allMatch(id -> replicas.gpuOf(id).isPresent());
  }
}
