package dev.tranche.nodeplugin.gpu;

import dev.tranche.api.ReplicaId;
import java.util.List;
import java.util.stream.IntStream;

/** The replica ids of a GPU with a given sharing. */
final class ReplicaIds {
  private ReplicaIds() {}

  static List<String> of(String uuid, GpuSharing how) {
    return how.shared()
        ? IntStream.range(0, how.replicas())
            .mapToObj(k -> new ReplicaId(uuid, k).toString())
            .toList()
        : List.of(ReplicaId.unshared(uuid).toString());
  }

  static boolean matches(GpuSharing how, String id) {
    try {
      ReplicaId replica = ReplicaId.parse(id);
      return replica.shared() == how.shared() && replica.ordinal() < how.replicas();
    } catch (IllegalArgumentException malformed) {
      return false;
    }
  }
}
