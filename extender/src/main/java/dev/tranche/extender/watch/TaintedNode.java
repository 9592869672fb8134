package dev.tranche.extender.watch;

import dev.tranche.api.Names;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A Node with a startup taint, as last watched.
 *
 * @param keys of all its taints, in the Node's order
 * @param offered extended resources with an allocatable quantity above zero
 */
public record TaintedNode(List<String> keys, Set<String> offered) {
  public static final Set<String> KEYS =
      Set.of(Names.STARTUP_TAINT, Names.STARTUP_TAINT_CLUSTER_AUTOSCALER);

  /**
   * @param allocatable of the Node, resource to quantity
   * @return empty if the node has no startup taint
   */
  public static Optional<TaintedNode> of(List<String> keys, Map<String, String> allocatable) {
    return Collections.disjoint(keys, KEYS)
        ? Optional.empty()
        : Optional.of(new TaintedNode(List.copyOf(keys), offered(allocatable)));
  }

  private static Set<String> offered(Map<String, String> allocatable) {
    return allocatable.entrySet().stream()
        .filter(e -> e.getKey().contains("/") && !"0".equals(e.getValue()))
        .map(Map.Entry::getKey)
        .collect(Collectors.toUnmodifiableSet());
  }
}
