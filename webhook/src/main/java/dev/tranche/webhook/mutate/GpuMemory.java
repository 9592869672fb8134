package dev.tranche.webhook.mutate;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toList;
import static java.util.stream.Collectors.toMap;

import dev.tranche.api.GpuPart;
import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.webhook.mutate.MutationRules.Cluster;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.pod.Messages;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.Warning;
import dev.tranche.webhook.request.GpuRequests;
import dev.tranche.webhook.request.GpuRequests.Request;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * The usable memory of a GPU, of which a request by memory becomes a share, and the nodes on which
 * the share comes out like this.
 *
 * @param usableBytes usable memory of one GPU; 0 if no request is by memory
 * @param totalsMib the labelled memory totals; empty allows every node
 * @param leastMib the least labelled memory total; 0 allows every node
 * @param exceptUsableMib labels of usable memory on which the share is another one, although the
 *     total is one of those
 */
record GpuMemory(
    long usableBytes, List<String> totalsMib, int leastMib, List<String> exceptUsableMib) {
  /** Of a pod that requests none. */
  static final GpuMemory ANY = new GpuMemory(0, List.of(), 0, List.of());

  /** The most labels of usable memory that a pod's affinity excludes. */
  private static final int EXCLUDED_MAX = 32;

  /**
   * The nodes with the same memory.
   *
   * @param usableLabel empty if usable memory is computed from the total
   */
  private record Model(int totalMib, long usableBytes, String usableLabel) {
    static Model of(GpuNode node, long reserveBytes) {
      return new Model(
          node.memoryMib().orElseThrow(),
          node.usableBytes(reserveBytes).orElse(0),
          node.labels().getOrDefault(Names.LABEL_MEMORY_USABLE, ""));
    }
  }

  /**
   * @param requests at least one is by memory
   * @param granularity of the nodes that the pod can land on
   * @param cluster says which of the nodes have room
   */
  record Search(
      GpuRequests requests,
      ReplicaGranularity granularity,
      Cluster cluster,
      MutationRules.Memory rules) {
    /** Returns the memory for a pod; empty if that is denied. */
    Optional<GpuMemory> of(PodView pod, Messages messages) {
      Request largest =
          requests.requests().stream()
              .max(Comparator.comparingLong(Request::memoryBytes))
              .orElseThrow();
      String text = Printable.value(largest.text());
      boolean tied = pod.isGated() || pod.claimsVolume();
      List<Model> models = models(tied ? granularity.reachable() : granularity.nodes());
      if (models.isEmpty() && !rules.isAssumed()) {
        messages.deny(Denial.MEMORY_UNKNOWN, largest.key(), Names.LABEL_MEMORY, text);
        return Optional.empty();
      }
      long usableMax =
          models.stream()
              .mapToLong(Model::usableBytes)
              .max()
              .orElse(rules.defaultBytes() - rules.reserveBytes());
      if (largest.memoryBytes() > usableMax) {
        messages.deny(Denial.MEMORY_TOO_LARGE, text, usableMax >> 20);
        return Optional.empty();
      }
      if (models.isEmpty()) {
        return Optional.of(new GpuMemory(usableMax, List.of(), 0, List.of()));
      }
      List<Model> large =
          models.stream().filter(m -> m.usableBytes() >= largest.memoryBytes()).toList();
      if (tied) {
        return Optional.of(enoughOnAll(models, large));
      }
      List<Model> chosen = choose(large);
      if (!totals(large).equals(totals(chosen))) {
        String texts =
            byMemory().map(r -> Printable.value(r.text())).distinct().collect(joining(", "));
        messages.warn(Warning.MEMORIES_DISAGREE, totals(large), texts, totals(chosen));
      }
      List<Integer> totals = chosen.stream().map(Model::totalMib).distinct().toList();
      return Optional.of(
          new GpuMemory(
              leastUsable(chosen),
              totals.stream().map(String::valueOf).toList(),
              0,
              except(models.stream().filter(m -> totals.contains(m.totalMib())), chosen)));
    }

    /**
     * Returns the models by ascending memory. Nodes that do not state their memory are left out,
     * since it may be too small.
     */
    private List<Model> models(List<GpuNode> nodes) {
      return nodes.stream()
          .filter(node -> node.memoryMib().isPresent())
          .map(node -> Model.of(node, rules.reserveBytes()))
          .distinct()
          .sorted(
              Comparator.comparingInt(Model::totalMib)
                  .thenComparingLong(Model::usableBytes)
                  .thenComparing(Model::usableLabel))
          .toList();
    }

    /**
     * Chooses among the models that are large enough those with equal replica counts: by the nodes
     * with room now, or else what most nodes agree on. What other nodes say affects only those
     * nodes.
     */
    private List<Model> choose(List<Model> large) {
      Collection<List<Model>> solutions =
          large.stream().collect(groupingBy(this::replicas, LinkedHashMap::new, toList())).values();
      if (solutions.size() == 1) {
        return solutions.iterator().next();
      }
      return Majority.draw(
              solutions, same -> (int) nodes(same).filter(room(same)).count(), cluster.reviewUid())
          .orElseGet(
              () ->
                  Majority.of(
                      solutions.stream()
                          .collect(toMap(same -> same, same -> (int) nodes(same).count())),
                      same -> 0,
                      cluster.reviewUid()));
    }

    private Stream<GpuNode> nodes(List<Model> models) {
      return granularity.nodes().stream()
          .filter(n -> n.memoryMib().isPresent())
          .filter(n -> models.contains(Model.of(n, rules.reserveBytes())));
    }

    /** Returns whether a node of these models says that it has room for the shares. */
    private Predicate<GpuNode> room(List<Model> models) {
      return cluster.haveRoom(
          Grant.of(requests, granularity.replicasPerGpu(), leastUsable(models)));
    }

    private List<Integer> replicas(Model model) {
      return byMemory()
          .map(r -> GpuPart.of(r.memoryBytes(), model.usableBytes()))
          .map(part -> part.replicas(granularity.replicasPerGpu()))
          .toList();
    }

    private Stream<Request> byMemory() {
      return requests.requests().stream().filter(r -> r.memoryBytes() > 0);
    }
  }

  private static long leastUsable(List<Model> models) {
    return models.stream().mapToLong(Model::usableBytes).min().orElseThrow();
  }

  /**
   * Sizes a pod whose nodes something else may choose, while its requests never change: what
   * removes its gates, or a volume that was made for the pod before it and exists on one node only.
   * So the share is enough on every model that is large enough, and only smaller ones are excluded.
   */
  private static GpuMemory enoughOnAll(List<Model> models, List<Model> large) {
    int leastMib = large.stream().mapToInt(Model::totalMib).min().orElseThrow();
    List<String> except = except(models.stream().filter(m -> m.totalMib() >= leastMib), large);
    return new GpuMemory(leastUsable(large), List.of(), leastMib, except);
  }

  /** Returns the labels by which models are excluded whose totals are those of chosen ones. */
  private static List<String> except(Stream<Model> models, List<Model> chosen) {
    List<String> kept = chosen.stream().map(Model::usableLabel).toList();
    return models
        .filter(m -> !chosen.contains(m))
        .map(Model::usableLabel)
        .filter(label -> !label.isEmpty() && !kept.contains(label))
        .distinct()
        .limit(EXCLUDED_MAX)
        .toList();
  }

  private static String totals(List<Model> models) {
    return models.stream()
        .map(Model::totalMib)
        .distinct()
        .sorted()
        .limit(8)
        .map(String::valueOf)
        .collect(joining(", "));
  }

  boolean admits(GpuNode node) {
    return (totalsMib.isEmpty()
            || totalsMib.contains(node.labels().getOrDefault(Names.LABEL_MEMORY, "")))
        && (leastMib == 0 || node.memoryMib().orElse(0) >= leastMib)
        && !exceptUsableMib.contains(node.labels().getOrDefault(Names.LABEL_MEMORY_USABLE, ""));
  }

  /**
   * Keeps the pod on these nodes. This is required even if all nodes agree: on a GPU with other
   * memory, the replicas would be another amount.
   */
  void require(RequiredNodeAffinity affinity) {
    if (!totalsMib.isEmpty()) {
      affinity.require(Names.LABEL_MEMORY, "In", totalsMib);
    }
    if (leastMib > 0) {
      affinity.require(Names.LABEL_MEMORY, "Gt", List.of(String.valueOf(leastMib - 1)));
    }
    if (!exceptUsableMib.isEmpty()) {
      affinity.require(Names.LABEL_MEMORY_USABLE, "NotIn", exceptUsableMib);
    }
  }
}
