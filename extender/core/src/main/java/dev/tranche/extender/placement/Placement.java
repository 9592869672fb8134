package dev.tranche.extender.placement;

import dev.tranche.api.Demand;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;

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
    return entries().stream().map(Share::uuid).collect(Collectors.joining(","));
  }

  /**
   * Returns the value of {@code tranche.dev/granted-replicas}: the replicas of each entry of {@link
   * #annotation}.
   *
   * @param replicasOf a GPU, by uuid
   */
  public String replicasAnnotation(ToIntFunction<String> replicasOf) {
    return entries().stream()
        .map(entry -> entry.replicas() + "/" + replicasOf.applyAsInt(entry.uuid()))
        .collect(Collectors.joining(","));
  }

  /** What only init containers use counts for the first entry of its GPU. */
  private List<Share> entries() {
    var entries = new ArrayList<Share>();
    var left = new TreeMap<>(held);
    if (held.size() > 1) {
      List<Share> shares = containers.stream().flatMap(c -> c.shares().stream()).toList();
      shares.forEach(s -> left.merge(s.uuid(), -s.replicas(), Integer::sum));
      for (Share share : shares) {
        int beyond = left.getOrDefault(share.uuid(), 0);
        left.put(share.uuid(), 0);
        entries.add(new Share(share.uuid(), share.replicas() + beyond));
      }
    }
    left.forEach((uuid, n) -> entries.add(new Share(uuid, n)));
    entries.removeIf(entry -> entry.replicas() == 0);
    return entries;
  }

  /**
   * Returns the number of containers that are on a GPU at one moment; each is at least one MPS
   * client. What no share explains is for init containers, which run one after the other.
   */
  public int clients(String uuid) {
    int clients = 0;
    int shared = 0;
    for (Container container : containers) {
      int before = shared;
      for (Share share : container.shares()) {
        shared += share.uuid().equals(uuid) ? share.replicas() : 0;
      }
      clients += shared > before ? 1 : 0;
    }
    return held.getOrDefault(uuid, 0) > shared ? clients + 1 : clients;
  }
}
