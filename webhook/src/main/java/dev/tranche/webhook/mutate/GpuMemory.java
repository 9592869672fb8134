package dev.tranche.webhook.mutate;

import static java.util.stream.Collectors.joining;

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
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;

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
   */
  static GpuMemory of(
      PodView pod,
      GpuRequests requests,
      ReplicaGranularity granularity,
      MutationRules.Memory rules) {
    List<Request> byMemory =
        requests.requests().stream().filter(a -> a.wanted() instanceof Wanted.Memory).toList();
    Request largest = byMemory.getFirst();
    for (Request request : byMemory) {
      largest = bytes(request) > bytes(largest) ? request : largest;
    }
    List<Model> models = models(granularity.nodes(), rules);
    if (models.isEmpty() && rules.defaultBytes() <= rules.reserveBytes()) {
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
    return models.isEmpty()
        ? new Known(usableMax, MemoryPin.NONE, Optional.empty())
        : choose(pod, models, byMemory, bytes(largest), granularity.replicasPerGpu());
  }

  /**
   * Chooses among the models that are large enough those with the replica counts that most nodes
   * agree on. What other nodes say affects only those nodes.
   */
  private static GpuMemory choose(
      PodView pod,
      List<Model> models,
      List<Request> byMemory,
      long largestBytes,
      int replicasPerGpu) {
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
    var nodes = new LinkedHashMap<List<Integer>, Integer>();
    bySolution.forEach((solution, same) -> nodes.put(solution, nodes(same)));
    List<Model> chosen = bySolution.getOrDefault(Majority.of(nodes, pod), List.of());
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

  private static MemoryPin pin(List<Model> models, List<Model> chosen) {
    List<Integer> totals = chosen.stream().map(Model::totalMib).distinct().toList();
    List<String> kept = chosen.stream().map(Model::usableLabel).toList();
    List<String> except =
        models.stream()
            .filter(m -> totals.contains(m.totalMib()) && !chosen.contains(m))
            .map(Model::usableLabel)
            .filter(label -> !label.isEmpty() && !kept.contains(label))
            .distinct()
            .limit(EXCLUDED_MAX)
            .toList();
    return new MemoryPin(totals.stream().map(String::valueOf).toList(), except);
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

  private static int nodes(List<Model> models) {
    return models.stream().mapToInt(Model::nodes).sum();
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
