package dev.tranche.extender.placement;

import dev.tranche.api.Demand;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Which GPUs a pod gets.
 *
 * @param containers those that are {@link #steered}, in the order of the pod's demand
 * @param held replicas per uuid that are taken for as long as the pod lives. Not the sum of the
 *     containers' shares where init containers hand theirs on.
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
   * The containers that a node's plugin can tell apart: PodResources omits ordinary init
   * containers, which follow the pod's one GPU. A pod of nothing else has no other to name.
   */
  public static List<Demand.Container> steered(Demand demand) {
    var lasting = demand.containers().stream().filter(c -> c.kind() != Demand.Kind.INIT).toList();
    return lasting.isEmpty() ? demand.containers() : lasting;
  }

  /** One whose containers hold their shares together. */
  public static Placement of(List<Container> containers) {
    var held = new LinkedHashMap<String, Integer>();
    for (Container container : containers) {
      container.shares().forEach(s -> held.merge(s.uuid(), s.replicas(), Integer::sum));
    }
    return new Placement(containers, held);
  }

  /**
   * The value of {@code tranche.dev/gpu}: one uuid if the pod has one GPU, else one per share in
   * order, and then those that only its init containers use.
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

  /** Containers that run on a GPU: each is an MPS client at least. */
  public int clients(String uuid) {
    return (int)
        containers.stream()
            .filter(c -> c.shares().stream().anyMatch(s -> s.uuid().equals(uuid)))
            .count();
  }
}
