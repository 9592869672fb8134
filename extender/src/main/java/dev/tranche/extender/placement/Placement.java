package dev.tranche.extender.placement;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Which GPUs a pod gets.
 *
 * @param containers in the order of the pod's {@link dev.tranche.api.Demand}
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
   * order.
   */
  public String annotation() {
    if (held.size() == 1) {
      return held.keySet().iterator().next();
    }
    return containers.stream()
        .flatMap(c -> c.shares().stream())
        .map(Share::uuid)
        .collect(Collectors.joining(","));
  }

  /** Containers that run on a GPU: each is an MPS client at least. */
  public int clients(String uuid) {
    return (int)
        containers.stream()
            .filter(c -> c.shares().stream().anyMatch(s -> s.uuid().equals(uuid)))
            .count();
  }
}
