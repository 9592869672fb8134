package dev.tranche.extender.placement;

import java.nio.IntBuffer;
import java.util.Arrays;
import java.util.List;

/** The free capacity of a node's GPUs during a search; a GPU is named by its index in the list. */
final class SearchState {
  private final int[] replicas;
  private final int[] clients;

  /**
   * @param memory whether real free memory limits the free replicas
   * @param limited whether MPS client slots limit them
   */
  SearchState(List<GpuView> gpus, boolean memory, boolean limited) {
    replicas = new int[gpus.size()];
    clients = new int[gpus.size()];
    for (int i = 0; i < replicas.length; i++) {
      GpuView gpu = gpus.get(i);
      int free = gpu.freeReplicas();
      replicas[i] = memory ? Math.min(free, gpu.replicasByMemory()) : free;
      clients[i] = limited ? gpu.freeClients() : GpuView.UNLIMITED;
    }
  }

  int size() {
    return replicas.length;
  }

  /** Returns the free replicas; 0 if no client slot is left. */
  int freeReplicas(int gpu) {
    return freeReplicas(gpu, 1);
  }

  /** Returns the free replicas; 0 if fewer client slots are left. */
  int freeReplicas(int gpu, int clientSlots) {
    return clients[gpu] < clientSlots ? 0 : replicas[gpu];
  }

  boolean fits(int gpu, int share, int clientsOfShare) {
    return replicas[gpu] >= share && clients[gpu] >= clientsOfShare;
  }

  /** Returns how many shares of a size fit on the GPU together. */
  int fitting(int gpu, int share) {
    return Math.min(clients[gpu], replicas[gpu] / share);
  }

  /** Returns whether two GPUs have the same free capacity. */
  boolean equalCapacity(int a, int b) {
    return replicas[a] == replicas[b] && clients[a] == clients[b];
  }

  /** Returns one of 64 numbers, the same for GPUs of {@link #equalCapacity}. */
  int hash(int gpu) {
    return (replicas[gpu] * 31 + clients[gpu]) & 63;
  }

  /** Appends the GPU's free capacity, by which GPUs are told apart. */
  void describe(int gpu, IntBuffer to) {
    to.put(replicas[gpu]).put(clients[gpu]);
  }

  /** Takes the share's replicas and one client slot. */
  void take(int gpu, int share) {
    replicas[gpu] -= share;
    clients[gpu] -= clients[gpu] == GpuView.UNLIMITED ? 0 : 1;
  }

  void giveBack(int gpu, int share) {
    replicas[gpu] += share;
    clients[gpu] += clients[gpu] == GpuView.UNLIMITED ? 0 : 1;
  }

  /** Returns the GPU with the most free replicas, the first among equals. */
  int emptiest(int clientSlots) {
    int emptiest = 0;
    for (int i = 1; i < replicas.length; i++) {
      boolean more = freeReplicas(i, clientSlots) > freeReplicas(emptiest, clientSlots);
      emptiest = more ? i : emptiest;
    }
    return emptiest;
  }

  /** Returns the free replicas of all GPUs. */
  long total() {
    long total = 0;
    for (int i = 0; i < replicas.length; i++) {
      total += freeReplicas(i);
    }
    return total;
  }

  /** Returns whether any GPU has a limit of client slots. */
  boolean limited() {
    return Arrays.stream(clients).anyMatch(slots -> slots != GpuView.UNLIMITED);
  }
}
