package dev.tranche.extender.cluster;

import dev.tranche.api.Names;
import dev.tranche.extender.ledger.NodeFacts;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Reads of a Node what we decide on. */
final class NodeReader {
  private NodeReader() {}

  static NodeFacts read(Node node, List<String> resources) {
    var meta = node.getMetadata();
    Map<String, String> annotations = orEmpty(meta.getAnnotations());
    Set<String> cordoned =
        Stream.of(annotations.getOrDefault(Names.CORDON_GPUS, "").split(",", -1))
            .map(String::strip)
            .filter(uuid -> !uuid.isEmpty())
            .collect(Collectors.toUnmodifiableSet());
    String config = orEmpty(meta.getLabels()).getOrDefault(Names.LABEL_CONFIG, "");
    return new NodeFacts(meta.getName(), cordoned, config, advertises(node, resources));
  }

  private static boolean advertises(Node node, List<String> resources) {
    if (node.getStatus() == null) {
      return false;
    }
    Map<String, Quantity> allocatable = orEmpty(node.getStatus().getAllocatable());
    return resources.stream()
        .map(allocatable::get)
        .anyMatch(quantity -> quantity != null && !"0".equals(quantity.getAmount()));
  }

  private static <V> Map<String, V> orEmpty(@org.jspecify.annotations.Nullable Map<String, V> map) {
    return map == null ? Map.of() : map;
  }
}
