package dev.tranche.nodeplugin.kubelet;

import dev.tranche.nodeplugin.gpu.Replicas;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.stream.Stream;

/**
 * Determines whether the kubelet has picked from the current replicas or from earlier ones. It may
 * pick before it has received the new device list. Refusing such a pick would end the pod. Confined
 * to one thread.
 */
final class ReplicasAtPick {
  /**
   * The kubelet calls Allocate right after its pick. Later picks of old replicas are an error of
   * the kubelet.
   */
  static final int REPLACED_MS = 5_000;

  private record Earlier(Replicas replicas, long replacedAtMs) {}

  private final Deque<Earlier> earlier = new ArrayDeque<>();
  private Replicas current;

  ReplicasAtPick(Replicas first) {
    this.current = first;
  }

  void update(Replicas next, long nowMs) {
    forgetOld(nowMs);
    if (!next.sameReplicas(current)) {
      earlier.addFirst(new Earlier(current, nowMs));
    }
    current = next;
  }

  Replicas current() {
    return current;
  }

  Replicas of(Collection<String> ids, long nowMs) {
    forgetOld(nowMs);
    return Stream.concat(Stream.of(current), earlier.stream().map(Earlier::replicas))
        .filter(list -> ids.stream().allMatch(id -> list.gpuOf(id).isPresent()))
        .findFirst()
        .orElse(current);
  }

  private void forgetOld(long nowMs) {
    earlier.removeIf(list -> nowMs - list.replacedAtMs() >= REPLACED_MS);
  }
}
