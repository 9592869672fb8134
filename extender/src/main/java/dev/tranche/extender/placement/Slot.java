package dev.tranche.extender.placement;

/** The room that is left on one GPU while a search goes on. */
final class Slot {
  final GpuView gpu;
  private int room;
  private int clients;

  Slot(GpuView gpu, int room, int clients) {
    this.gpu = gpu;
    this.room = room;
    this.clients = clients;
  }

  int room() {
    return clients < 1 ? 0 : room;
  }

  boolean fits(int replicas, int clientsOfShare) {
    return room >= replicas && clients >= clientsOfShare;
  }

  void take(int replicas, int clientsOfShare) {
    room -= replicas;
    clients -= clientsOfShare;
  }

  void giveBack(int replicas, int clientsOfShare) {
    take(-replicas, -clientsOfShare);
  }
}
