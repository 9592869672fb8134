package dev.tranche.extender.placement;

import dev.tranche.api.Demand;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The GPUs that a pod gets.
 *
 * @param containers the {@link #assignableContainers}, in the order of the pod's demand
 * @param held replicas per uuid that are held for as long as the pod lives. This is not the sum of
 *     the containers' shares if init containers pass theirs on.
 */
public record Placement(List<Container> containers, Map<String, Integer> held) {
  public Placement {
    containers = List.copyOf(containers);
    held = Map.copyOf(held);
  }

  /** Replicas on one GPU. */
  public record Share(String uuid, int replicas) {}

  public record Container(String name, List<Share> shares) {
    public Container {
      shares = List.copyOf(shares);
    }
  }

  /**
   * Returns the containers that a node's plugin can tell apart. PodResources omits ordinary init
   * containers, which use the pod's one GPU. They are returned only if the pod has no others.
   */
  public static List<Demand.Container> assignableContainers(Demand demand) {
    var lasting = demand.containers().stream().filter(c -> c.kind() != Demand.Kind.INIT).toList();
    return lasting.isEmpty() ? demand.containers() : lasting;
  }

  /** Returns a placement whose containers hold their shares at the same time. */
  public static Placement of(List<Container> containers) {
    var held = new LinkedHashMap<String, Integer>();
    for (Container container : containers) {
      container.shares().forEach(s -> held.merge(s.uuid(), s.replicas(), Integer::sum));
    }
    return new Placement(containers, held);
  }

  /**
   * Returns the value of {@code tranche.dev/gpu}: one uuid if the pod has one GPU. Otherwise it is
   * one per share in order, followed by those that only its init containers use.
   */
  public String annotation() {
    if (held.size() == 1) {
      return held.keySet().iterator().next();
    }
    List<String> shares =
        containers.stream().flatMap(c -> c.shares().stream()).map(Share::uuid).toList();
    Stream<String> others = held.keySet().stream().filter(u -> !shares.contains(u)).sorted();
    return Stream.concat(shares.stream(), others).collect(Collectors.joining(","));
  }

  /** Returns the number of containers on a GPU; each is at least one MPS client. */
  public int clients(String uuid) {
    return (int)
        containers.stream()
            .filter(c -> c.shares().stream().anyMatch(s -> s.uuid().equals(uuid)))
            .count();
  }
}
