package dev.tranche.webhook.mutate;

import static java.util.stream.Collectors.toMap;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.webhook.pod.PodView;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.ToIntFunction;

/**
 * Chooses what most nodes say, so that one node's labels do not decide about all pods. On a tie the
 * choice with room on more nodes wins. If that is a tie as well, each workload chooses for itself.
 * So a node whose vote makes the tie wins only some of them.
 */
final class Majority {
  private Majority() {}

  /**
   * The choice among tied ones with equal room is the same for all pods of a workload. It also
   * stays the same if some of the others are no longer offered, as when our own result is admitted
   * again.
   *
   * @param nodes the number of nodes by what they say; not empty
   * @param room how many of these nodes have room for the pod; asked on a tie only
   */
  static <T> T of(Map<T, Integer> nodes, PodView pod, ToIntFunction<T> room) {
    int most = nodes.values().stream().mapToInt(Integer::intValue).max().orElseThrow();
    List<T> tied =
        nodes.entrySet().stream()
            .filter(each -> each.getValue() == most)
            .map(Map.Entry::getKey)
            .toList();
    if (tied.size() == 1) {
      return tied.getFirst();
    }
    String workload = workload(pod.pod().path("metadata"));
    Map<T, Integer> rooms = tied.stream().collect(toMap(each -> each, room::applyAsInt));
    return rooms.entrySet().stream()
        .max(
            Map.Entry.<T, Integer>comparingByValue()
                .thenComparingInt(e -> mix((workload + "/" + e.getKey()).hashCode()))
                .thenComparing(e -> e.getKey().toString(), Comparator.reverseOrder()))
        .orElseThrow()
        .getKey();
  }

  /** Returns the namespace, and what the names of all pods of a workload begin with. */
  private static String workload(JsonNode metadata) {
    String name = metadata.path("generateName").asText(metadata.path("name").asText(""));
    return metadata.path("namespace").asText("") + "/" + name;
  }

  /** Spreads a hash over all bits: those of texts that differ in one digit are neighbours. */
  private static int mix(int hash) {
    int h = (hash ^ (hash >>> 16)) * 0x85ebca6b;
    h = (h ^ (h >>> 13)) * 0xc2b2ae35;
    return h ^ (h >>> 16);
  }
}
