package dev.tranche.nodeplugin.gpu;

import dev.tranche.api.ReplicaId;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;

/** The replica ids of a GPU with a given sharing. */
final class ReplicaIds {
  // Length first, so that ::10 comes after ::9.
  private static final Comparator<String> BY_ORDINAL =
      Comparator.comparingInt(String::length).thenComparing(Comparator.naturalOrder());

  private ReplicaIds() {}

  /**
   * Returns R ids: those that are held under this sharing, and the lowest ones that are not taken.
   *
   * @param own held under this sharing
   * @param taken held under an earlier one
   */
  static List<String> of(String uuid, GpuSharing how, Set<String> own, Set<String> taken) {
    if (!how.shared()) {
      return List.of(ReplicaId.unshared(uuid).toString());
    }
    List<String> ids = new ArrayList<>(own);
    for (int k = 0; ids.size() < how.replicas(); k++) {
      String id = new ReplicaId(uuid, k).toString();
      if (!own.contains(id) && !taken.contains(id)) {
        ids.add(id);
      }
    }
    ids.sort(BY_ORDINAL);
    return ids;
  }
}
