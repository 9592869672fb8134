package dev.tranche.extender.ledger;

import org.jspecify.annotations.Nullable;

/**
 * What a new pod could get of a GPU.
 *
 * @param freeClients MPS client slots; the largest number without a limit
 * @param strayReplicas taken by pods that are not known: what these use of memory counts beside
 *     them, and no more once they are known
 */
record GpuRoom(int freeReplicas, int freeClients, int strayReplicas) {
  static GpuRoom of(NodeView.Gpu gpu) {
    int clientsMax = gpu.facts().clientsMax();
    int freeClients = clientsMax == 0 ? Integer.MAX_VALUE : clientsMax - gpu.heldClients();
    return new GpuRoom(gpu.freeReplicas(), Math.max(0, freeClients), gpu.strayReplicas());
  }

  /** Whether a pod may fit now that did not before. */
  boolean grewSince(@Nullable GpuRoom before) {
    if (freeReplicas == 0 || freeClients == 0) {
      return false;
    }
    return before == null
        || freeReplicas > before.freeReplicas
        || freeClients > before.freeClients
        || strayReplicas < before.strayReplicas;
  }
}
