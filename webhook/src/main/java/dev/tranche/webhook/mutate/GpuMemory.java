package dev.tranche.webhook.mutate;

import static java.util.stream.Collectors.joining;

import dev.tranche.api.Fraction;
import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.pod.Problem;
import dev.tranche.webhook.pod.Warning;
import dev.tranche.webhook.request.GpuRequests;
import dev.tranche.webhook.request.GpuRequests.Request;
import dev.tranche.webhook.request.GpuRequests.Wanted;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** The usable memory of a GPU, of which a request by memory becomes a share. */
sealed interface GpuMemory {
  /**
   * @param usableBytes usable memory of one GPU
   * @param pinnedMib the labelled memory totals on which the shares come out like this; the pod
   *     must be kept on nodes with one of them. Empty if no node states its memory and the default
   *     is used.
   * @param warning present if other nodes would have served as well
   */
  record Known(long usableBytes, List<String> pinnedMib, Optional<String> warning)
      implements GpuMemory {}

  /** The pod is denied. */
  record Refused(Problem reason) implements GpuMemory {}

  /** The nodes with the same memory total. The smallest usable memory among them counts. */
  record Model(int totalMib, long usableBytes, int nodes) {
    Model combinedWith(Model other) {
      return new Model(totalMib, Math.min(usableBytes, other.usableBytes), nodes + other.nodes);
    }
  }

  /**
   * @param requests at least one is by memory
   * @param granularity of the nodes that the pod can land on
   */
  static GpuMemory of(
      GpuRequests requests, ReplicaGranularity granularity, MutationRules.Memory rules) {
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
          Denial.MEMORY_TOO_MUCH.of(Printable.value(largest.text()), usableMax >> 20));
    }
    return models.isEmpty()
        ? new Known(usableMax, List.of(), Optional.empty())
        : choose(models, byMemory, bytes(largest), granularity.replicasPerGpu());
  }

  /**
   * Chooses among the models that are large enough those with the replica counts that most nodes
   * agree on. On a tie, chooses the smaller models.
   */
  private static GpuMemory choose(
      List<Model> models, List<Request> byMemory, long largestBytes, int replicasPerGpu) {
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
        bySolution.values().stream().reduce((a, b) -> nodes(b) > nodes(a) ? b : a).orElseThrow();
    Optional<String> warning =
        bySolution.size() == 1
            ? Optional.empty()
            : Optional.of(
                Warning.MEMORIES_DISAGREE.of(
                    totals(bySolution.values().stream().flatMap(List::stream).toList()),
                    byMemory.stream()
                        .map(a -> Printable.value(a.text()))
                        .distinct()
                        .collect(joining(", ")),
                    totals(chosen)));
    long usable = chosen.stream().mapToLong(Model::usableBytes).min().orElseThrow();
    List<String> pinned = chosen.stream().map(m -> String.valueOf(m.totalMib())).toList();
    return new Known(usable, pinned, warning);
  }

  private static List<Integer> replicas(
      List<Request> byMemory, long usableBytes, int replicasPerGpu) {
    return byMemory.stream()
        .map(a -> Fraction.replicasOfMemory(bytes(a), usableBytes, replicasPerGpu))
        .toList();
  }

  /**
   * Returns the models by ascending total. Nodes that do not state their memory are left out, since
   * it may be too small.
   */
  private static List<Model> models(List<GpuNode> nodes, MutationRules.Memory rules) {
    Map<Integer, Model> models = new TreeMap<>();
    for (GpuNode node : nodes) {
      if (node.memoryMib().isPresent()) {
        int total = node.memoryMib().getAsInt();
        long usable = node.usableBytes(rules.reserveBytes()).orElse(0);
        models.merge(total, new Model(total, usable, 1), Model::combinedWith);
      }
    }
    return List.copyOf(models.values());
  }

  private static int nodes(List<Model> models) {
    return models.stream().mapToInt(Model::nodes).sum();
  }

  private static String totals(List<Model> models) {
    return models.stream()
        .map(Model::totalMib)
        .sorted()
        .limit(8)
        .map(String::valueOf)
        .collect(joining(", "));
  }

  private static long bytes(Request request) {
    return request.wanted() instanceof Wanted.Memory(long bytes) ? bytes : 0;
  }
}
