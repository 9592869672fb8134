package dev.tranche.webhook.mutate;

import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toSet;

import dev.tranche.api.Fraction;
import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.Problem;
import dev.tranche.webhook.pod.Warning;
import dev.tranche.webhook.request.GpuRequests;
import dev.tranche.webhook.request.GpuRequests.Request;
import dev.tranche.webhook.request.GpuRequests.Wanted;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** The usable memory of a GPU, of which a request by memory becomes a share. */
sealed interface GpuMemory {
  /**
   * @param usableBytes usable memory of one GPU
   * @param pin the nodes on which the shares come out like this, and where the pod must be kept. It
   *     allows every node if none states its memory and the default is used.
   * @param warning present if other nodes would have served as well
   */
  record Known(long usableBytes, MemoryPin pin, Optional<String> warning) implements GpuMemory {}

  /** The pod is denied. */
  record Refused(Problem reason) implements GpuMemory {}

  /** The most labels of usable memory that a pod's affinity excludes. */
  int EXCLUDED_MAX = 32;

  /**
   * The nodes with the same memory.
   *
   * @param usableLabel empty if usable memory is computed from the total
   */
  record Model(int totalMib, long usableBytes, String usableLabel, int nodes) {
    static Model of(GpuNode node, long reserveBytes) {
      return new Model(
          node.memoryMib().orElseThrow(),
          node.usableBytes(reserveBytes).orElse(0),
          node.labels().getOrDefault(Names.LABEL_MEMORY_USABLE, ""),
          1);
    }

    private List<Object> key() {
      return List.of(totalMib, usableBytes, usableLabel);
    }

    private Model and(Model other) {
      return new Model(totalMib, usableBytes, usableLabel, nodes + other.nodes);
    }
  }

  /**
   * @param requests at least one is by memory
   * @param granularity of the nodes that the pod can land on
   * @param cluster says which of the nodes have room
   */
  static GpuMemory of(
      PodView pod,
      GpuRequests requests,
      ReplicaGranularity granularity,
      MutationRules.Cluster cluster,
      MutationRules.Memory rules) {
    List<Request> byMemory =
        requests.requests().stream().filter(a -> a.wanted() instanceof Wanted.Memory).toList();
    Request largest = byMemory.getFirst();
    for (Request request : byMemory) {
      largest = bytes(request) > bytes(largest) ? request : largest;
    }
    boolean tied = pod.isGated() || pod.claimsVolume();
    List<Model> models = models(tied ? granularity.reachable() : granularity.nodes(), rules);
    if (models.isEmpty() && !rules.isAssumed()) {
      return new Refused(
          Denial.MEMORY_UNKNOWN.of(
              largest.key(), Names.LABEL_MEMORY, Printable.value(largest.text())));
    }
    long usableMax =
        models.stream()
            .mapToLong(Model::usableBytes)
            .max()
            .orElse(rules.defaultBytes() - rules.reserveBytes());
    if (bytes(largest) > usableMax) {
      return new Refused(
          Denial.MEMORY_TOO_LARGE.of(Printable.value(largest.text()), usableMax >> 20));
    }
    if (models.isEmpty()) {
      return new Known(usableMax, MemoryPin.NONE, Optional.empty());
    }
    if (tied) {
      return enoughOnAll(models, bytes(largest));
    }
    return choose(models, requests, byMemory, granularity, cluster, rules);
  }

  /**
   * Sizes a pod whose nodes something else may choose, while its requests never change: what
   * removes its gates, or a volume that was made for the pod before it and exists on one node only.
   * So the share is enough on every model that is large enough, and only smaller ones are excluded.
   */
  private static GpuMemory enoughOnAll(List<Model> models, long largestBytes) {
    List<Model> large = models.stream().filter(m -> m.usableBytes() >= largestBytes).toList();
    int leastMib = large.stream().mapToInt(Model::totalMib).min().orElseThrow();
    long usable = large.stream().mapToLong(Model::usableBytes).min().orElseThrow();
    List<String> except = except(models.stream().filter(m -> m.totalMib() >= leastMib), large);
    return new Known(usable, new MemoryPin(List.of(), leastMib, except), Optional.empty());
  }

  /**
   * Chooses among the models that are large enough those with equal replica counts: by the nodes
   * with room now, or else what most nodes agree on. What other nodes say affects only those nodes.
   */
  private static GpuMemory choose(
      List<Model> models,
      GpuRequests requests,
      List<Request> byMemory,
      ReplicaGranularity granularity,
      MutationRules.Cluster cluster,
      MutationRules.Memory rules) {
    int replicasPerGpu = granularity.replicasPerGpu();
    long largestBytes = byMemory.stream().mapToLong(GpuMemory::bytes).max().orElseThrow();
    var bySolution = new LinkedHashMap<List<Integer>, List<Model>>();
    models.stream()
        .filter(m -> m.usableBytes() >= largestBytes)
        .forEach(
            m ->
                bySolution
                    .computeIfAbsent(
                        replicas(byMemory, m.usableBytes(), replicasPerGpu),
                        solution -> new ArrayList<>())
                    .add(m));
    List<Model> chosen =
        bySolution.size() == 1
            ? bySolution.values().iterator().next()
            : Majority.draw(
                    bySolution.values(),
                    same -> withRoom(same, requests, granularity, cluster, rules),
                    cluster.reviewUid())
                .orElseGet(() -> ofMostNodes(bySolution.values(), cluster.reviewUid()));
    String all = totals(bySolution.values().stream().flatMap(List::stream).toList());
    Optional<String> warning =
        all.equals(totals(chosen))
            ? Optional.empty()
            : Optional.of(
                Warning.MEMORIES_DISAGREE.of(
                    all,
                    byMemory.stream()
                        .map(a -> Printable.value(a.text()))
                        .distinct()
                        .collect(joining(", ")),
                    totals(chosen)));
    long usable = chosen.stream().mapToLong(Model::usableBytes).min().orElseThrow();
    return new Known(usable, pin(models, chosen), warning);
  }

  private static List<Model> ofMostNodes(Collection<List<Model>> solutions, String reviewUid) {
    var nodes = new LinkedHashMap<List<Model>, Integer>();
    solutions.forEach(same -> nodes.put(same, same.stream().mapToInt(Model::nodes).sum()));
    return Majority.of(nodes, same -> 0, reviewUid);
  }

  /** Returns how many nodes of these models say that they have room for the shares. */
  private static int withRoom(
      List<Model> models,
      GpuRequests requests,
      ReplicaGranularity granularity,
      MutationRules.Cluster cluster,
      MutationRules.Memory rules) {
    int replicasPerGpu = granularity.replicasPerGpu();
    long usable = models.stream().mapToLong(Model::usableBytes).min().orElseThrow();
    List<Grant> grants = Grant.of(requests, replicasPerGpu, usable);
    double gpus = grants.stream().mapToLong(Grant::replicas).sum() / (double) replicasPerGpu;
    int share = grants.stream().mapToInt(Grant::shareReplicas).max().orElseThrow();
    Set<List<Object>> keys = models.stream().map(Model::key).collect(toSet());
    return (int)
        granularity.nodes().stream()
            .filter(n -> n.memoryMib().isPresent())
            .filter(n -> keys.contains(Model.of(n, rules.reserveBytes()).key()))
            .filter(n -> cluster.hasRoom(n, gpus, share, replicasPerGpu))
            .count();
  }

  private static MemoryPin pin(List<Model> models, List<Model> chosen) {
    List<Integer> totals = chosen.stream().map(Model::totalMib).distinct().toList();
    List<String> except =
        except(models.stream().filter(m -> totals.contains(m.totalMib())), chosen);
    return new MemoryPin(totals.stream().map(String::valueOf).toList(), 0, except);
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

  private static List<Integer> replicas(
      List<Request> byMemory, long usableBytes, int replicasPerGpu) {
    return byMemory.stream()
        .map(a -> Fraction.replicasOfMemory(bytes(a), usableBytes, replicasPerGpu))
        .toList();
  }

  /**
   * Returns the models by ascending memory. Nodes that do not state their memory are left out,
   * since it may be too small.
   */
  private static List<Model> models(List<GpuNode> nodes, MutationRules.Memory rules) {
    var models = new HashMap<List<Object>, Model>();
    for (GpuNode node : nodes) {
      if (node.memoryMib().isPresent()) {
        var model = Model.of(node, rules.reserveBytes());
        models.merge(model.key(), model, Model::and);
      }
    }
    return models.values().stream()
        .sorted(
            Comparator.comparingInt(Model::totalMib)
                .thenComparingLong(Model::usableBytes)
                .thenComparing(Model::usableLabel))
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

  private static long bytes(Request request) {
    return request.wanted() instanceof Wanted.Memory(long bytes) ? bytes : 0;
  }
}
