package dev.tranche.webhook.mutate;

import static java.util.stream.Collectors.toCollection;
import static java.util.stream.Collectors.toSet;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.LabelOperator;
import dev.tranche.api.Names;
import dev.tranche.webhook.nodes.DecidingLabel;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.pod.PodView;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Removes requirements that Tranche added when the pod was first created: the number of replicas
 * per GPU, and the memory of the GPUs. If no node of the cluster meets them any more, a restored or
 * copied pod would be denied, or stay pending for ever. Without them, the pod is sized and placed
 * like a new one.
 */
final class StaleRequirements {
  private static final String REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";

  private StaleRequirements() {}

  /**
   * @param nodes all labelled nodes; without any that has replicas, requirements are kept
   * @param defaultReplicas the replicas per GPU of future nodes; a requirement of this number is
   *     kept, unless the pod would be denied since no node states its memory
   * @param memoryIsAssumed whether a memory is assumed where no node states it. Then a requirement
   *     of memory may be one of the pod's owner, who waits for such a node.
   * @return the same pod, or a copy without the requirements
   */
  static PodView removeFrom(
      PodView pod, List<GpuNode> nodes, int defaultReplicas, boolean memoryIsAssumed) {
    Map<String, String> annotations = pod.annotations();
    String former = annotations.get(Names.REPLICAS_PER_GPU);
    List<GpuNode> sharing = nodes.stream().filter(n -> n.replicasPerGpu().isPresent()).toList();
    if (former == null || sharing.isEmpty()) {
      return pod;
    }
    JsonNode terms = terms(pod.pod());
    boolean byMemory =
        !memoryIsAssumed && annotations.keySet().stream().anyMatch(StaleRequirements::isMemory);
    boolean isDefault = former.equals(Integer.toString(defaultReplicas));
    Predicate<JsonNode> stale = byMemory ? staleMemory(terms, sharing) : expression -> false;
    if ((byMemory || !isDefault) && !isOffered(terms, nodes, former)) {
      stale = stale.or(expression -> isOurRequirement(expression, former));
    }
    if (expressions(terms).noneMatch(stale)) {
      return pod;
    }
    JsonNode copy = pod.pod().deepCopy();
    remove((ObjectNode) copy.path("spec").path("affinity").path("nodeAffinity"), stale);
    return new PodView(copy);
  }

  private static boolean isMemory(String annotation) {
    return annotation.equals(Names.GPU_MEMORY) || annotation.startsWith(Names.GPU_MEMORY_OF);
  }

  /** The requirements of memory, if no node meets those of any term. */
  private static Predicate<JsonNode> staleMemory(JsonNode terms, List<GpuNode> nodes) {
    Predicate<JsonNode> ofMemory =
        e -> key(e).equals(Names.LABEL_MEMORY) || key(e).equals(Names.LABEL_MEMORY_USABLE);
    boolean met =
        terms
            .valueStream()
            .map(term -> term.path("matchExpressions").valueStream().filter(ofMemory).toList())
            .anyMatch(
                required ->
                    nodes.stream()
                        .filter(n -> n.memoryMib().isPresent())
                        .anyMatch(n -> required.stream().allMatch(e -> isMet(e, n))));
    boolean known = nodes.stream().anyMatch(n -> n.memoryMib().isPresent());
    return known && !met ? ofMemory : e -> false;
  }

  private static boolean isMet(JsonNode expression, GpuNode node) {
    JsonNode values = expression.path("values");
    return LabelOperator.matches(
        expression.path("operator").asText(""),
        values.valueStream().map(value -> value.asText("")).collect(toSet()),
        LabelOperator.number(values.path(0).asText("")),
        node.labels().get(key(expression)));
  }

  private static JsonNode terms(JsonNode pod) {
    return pod.path("spec")
        .path("affinity")
        .path("nodeAffinity")
        .path(REQUIRED)
        .path("nodeSelectorTerms");
  }

  /**
   * Whether a node has that number, and a label that the requirement finds. An earlier version
   * required NVIDIA's label alone.
   */
  private static boolean isOffered(JsonNode terms, List<GpuNode> nodes, String replicas) {
    boolean byOurs = expressions(terms).anyMatch(e -> key(e).equals(DecidingLabel.REPLICAS.ours()));
    return nodes.stream()
        .filter(n -> replicas.equals(String.valueOf(n.replicasPerGpu().orElse(0))))
        .anyMatch(n -> byOurs || replicas.equals(n.labels().get(DecidingLabel.REPLICAS.nvidias())));
  }

  private static Stream<JsonNode> expressions(JsonNode terms) {
    return terms.valueStream().flatMap(term -> term.path("matchExpressions").valueStream());
  }

  private static String key(JsonNode expression) {
    return expression.path("key").asText("");
  }

  /** Whether it is {@code In} of one of the two labels. */
  private static boolean isOurRequirement(JsonNode expression, String replicas) {
    JsonNode values = expression.path("values");
    return isOfReplicas(expression)
        && expression.path("operator").asText("").equals("In")
        && values.size() == 1
        && values.path(0).asText("").equals(replicas);
  }

  private static boolean isOfReplicas(JsonNode expression) {
    return key(expression).equals(DecidingLabel.REPLICAS.ours())
        || key(expression).equals(DecidingLabel.REPLICAS.nvidias());
  }

  private static boolean isAbsence(JsonNode expression) {
    return key(expression).equals(DecidingLabel.REPLICAS.ours())
        && expression.path("operator").asText("").equals("DoesNotExist");
  }

  private static void remove(ObjectNode nodeAffinity, Predicate<JsonNode> stale) {
    boolean anyNode = false;
    JsonNode terms = nodeAffinity.path(REQUIRED).path("nodeSelectorTerms");
    for (JsonNode term : terms) {
      if (term.path("matchExpressions") instanceof ArrayNode expressions) {
        int before = expressions.size();
        boolean ofReplicas =
            expressions.valueStream().filter(stale).anyMatch(StaleRequirements::isOfReplicas);
        expressions.removeIf(stale);
        if (ofReplicas) {
          expressions.removeIf(StaleRequirements::isAbsence);
        }
        boolean emptied = expressions.isEmpty() && before > 0;
        anyNode |= emptied && term.path("matchFields").isEmpty();
      }
    }
    if (anyNode) {
      // Terms are alternatives, and the emptied one should admit any node. But to Kubernetes, an
      // empty term matches no node, so nothing is required any more.
      nodeAffinity.remove(REQUIRED);
    } else if (terms instanceof ArrayNode array) {
      // Two of ours were alternatives of one term of the user's.
      Set<JsonNode> different = array.valueStream().collect(toCollection(LinkedHashSet::new));
      array.removeAll().addAll(different);
    }
  }
}
