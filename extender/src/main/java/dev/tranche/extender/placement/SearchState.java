package dev.tranche.extender.placement;

import java.nio.IntBuffer;
import java.util.List;

/** The room on a node's GPUs while a search goes on; GPUs by their number in the list. */
final class SearchState {
  final List<GpuView> gpus;
  private final int[] replicas;
  private final int[] clients;

  /**
   * @param memory whether real free memory limits it
   * @param limited whether MPS client slots do
   */
  SearchState(List<GpuView> gpus, boolean memory, boolean limited) {
    this.gpus = gpus;
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

  /** None where no client slot is left. */
  int of(int gpu) {
    return clients[gpu] < 1 ? 0 : replicas[gpu];
  }

  boolean fits(int gpu, int share, int clientsOfShare) {
    return replicas[gpu] >= share && clients[gpu] >= clientsOfShare;
  }

  /** So many shares of a size fit beside each other. */
  int fitting(int gpu, int share) {
    return Math.min(clients[gpu], replicas[gpu] / share);
  }

  /** Whether two GPUs have the same room. */
  boolean alike(int a, int b) {
    return replicas[a] == replicas[b] && clients[a] == clients[b];
  }

  /** One of 64 numbers, the same for GPUs that are {@link #alike}. */
  int hash(int gpu) {
    return (replicas[gpu] * 31 + clients[gpu]) & 63;
  }

  /** Appends what tells its room from another's. */
  void describe(int gpu, IntBuffer to) {
    to.put(replicas[gpu]).put(clients[gpu]);
  }

  /** One more client, too. */
  void take(int gpu, int share) {
    replicas[gpu] -= share;
    clients[gpu] -= clients[gpu] == GpuView.UNLIMITED ? 0 : 1;
  }

  void giveBack(int gpu, int share) {
    replicas[gpu] += share;
    clients[gpu] += clients[gpu] == GpuView.UNLIMITED ? 0 : 1;
  }

  /** The first of those with the most room. */
  int emptiest() {
    int emptiest = 0;
    for (int i = 1; i < replicas.length; i++) {
      emptiest = of(i) > of(emptiest) ? i : emptiest;
    }
    return emptiest;
  }

  /** In all. */
  long total() {
    long total = 0;
    for (int i = 0; i < replicas.length; i++) {
      total += of(i);
    }
    return total;
  }

  /** Whether some GPU's client slots are numbered. */
  boolean limited() {
    for (int slots : clients) {
      if (slots != GpuView.UNLIMITED) {
        return true;
      }
    }
    return false;
  }
}
