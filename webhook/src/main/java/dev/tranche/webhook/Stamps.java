package dev.tranche.webhook;

import dev.tranche.api.Names;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Our words on the pod. Whatever the user wrote there is overwritten or removed, since the extender
 * believes them.
 */
record Stamps(Map<String, String> values) {
  static final Stamps NONE = new Stamps(Map.of());
  private static final List<String> OURS =
      Stream.of(Names.REPLICAS_PER_GPU, Names.GRANTED_FRACTION, Names.GPU).sorted().toList();

  static Stamps of(List<Grant> grants, int replicasPerGpu) {
    String replicas = String.valueOf(replicasPerGpu);
    List<Grant> rounded = grants.stream().filter(Grant::roundedUp).toList();
    if (rounded.isEmpty()) {
      return new Stamps(Map.of(Names.REPLICAS_PER_GPU, replicas));
    }
    String granted =
        grants.size() == 1
            ? rounded.getFirst().fraction()
            : rounded.stream()
                .map(g -> g.ask().container().name() + "=" + g.fraction())
                .collect(Collectors.joining(","));
    return new Stamps(Map.of(Names.REPLICAS_PER_GPU, replicas, Names.GRANTED_FRACTION, granted));
  }

  /** The map is there where there are stamps to write: an annotation asked for them. */
  void write(Map<String, String> annotations, JsonPatch patch) {
    for (String stamp : OURS) {
      String value = values.get(stamp);
      if (value != null && !value.equals(annotations.get(stamp))) {
        patch.add(value, "metadata", "annotations", stamp);
      } else if (value == null && annotations.containsKey(stamp)) {
        patch.remove("metadata", "annotations", stamp);
      }
    }
  }
}
