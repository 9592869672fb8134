package dev.tranche.nodeplugin.kubelet;

import dev.tranche.nodeplugin.gpu.Replicas;
import java.util.Collection;

/**
 * Determines whether the kubelet has picked from the current replicas or from those of the previous
 * config. It may pick before it has received the new device list. Refusing such a pick would end
 * the pod. Confined to one thread.
 */
final class ReplicasAtPick {
  /**
   * The kubelet calls Allocate right after its pick. Later picks of old replicas are an error of
   * the kubelet.
   */
  static final int REPLACED_MS = 5_000;

  private Replicas current;
  private Replicas previous;
  private long replacedAtMs;

  ReplicasAtPick(Replicas first) {
    this.current = first;
    this.previous = first;
  }

  void update(Replicas next, long nowMs) {
    if (!next.sharing().equals(current.sharing())) {
      previous = current;
      replacedAtMs = nowMs;
    }
    current = next;
  }

  Replicas of(Collection<String> ids, long nowMs) {
    boolean justReplaced = nowMs - replacedAtMs < REPLACED_MS;
    return justReplaced && !hasAll(current, ids) && hasAll(previous, ids) ? previous : current;
  }

  private static boolean hasAll(Replicas replicas, Collection<String> ids) {
    return ids.stream().allMatch(id -> replicas.gpuOf(id).isPresent());
  }
}
