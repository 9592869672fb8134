package dev.tranche.webhook.mutate;

import static java.util.stream.Collectors.toCollection;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.Names;
import dev.tranche.webhook.nodes.DecidingLabel;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.pod.PodView;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Removes a requirement that Tranche added when the pod was first created: the number of replicas
 * per GPU at that time. If no node of the cluster has that number any more, a restored or copied
 * pod would stay pending for ever. Without the requirement, the pod is sized and placed like a new
 * one.
 */
final class StaleReplicaRequirement {
  private static final String REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";

  private StaleReplicaRequirement() {}

  /**
   * @param nodes all labelled nodes; without any that has replicas, a requirement is kept
   * @param defaultReplicas the replicas per GPU of future nodes; a requirement of this number is
   *     kept
   * @return the same pod, or a copy without the requirement
   */
  static PodView removeFrom(PodView pod, List<GpuNode> nodes, int defaultReplicas) {
    String former = pod.annotations().get(Names.REPLICAS_PER_GPU);
    JsonNode terms = terms(pod.pod());
    if (former == null
        || former.equals(Integer.toString(defaultReplicas))
        || nodes.stream().allMatch(n -> n.replicasPerGpu().isEmpty())
        || !isRequired(terms, former)
        || isOffered(terms, nodes, former)) {
      return pod;
    }
    JsonNode copy = pod.pod().deepCopy();
    remove((ObjectNode) copy.path("spec").path("affinity").path("nodeAffinity"), former);
    return new PodView(copy);
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

  private static boolean isRequired(JsonNode terms, String replicas) {
    return expressions(terms).anyMatch(expression -> isOurRequirement(expression, replicas));
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
    return (key(expression).equals(DecidingLabel.REPLICAS.ours())
            || key(expression).equals(DecidingLabel.REPLICAS.nvidias()))
        && expression.path("operator").asText("").equals("In")
        && values.size() == 1
        && values.path(0).asText("").equals(replicas);
  }

  private static boolean isAbsence(JsonNode expression) {
    return key(expression).equals(DecidingLabel.REPLICAS.ours())
        && expression.path("operator").asText("").equals("DoesNotExist");
  }

  private static void remove(ObjectNode nodeAffinity, String replicas) {
    boolean anyNode = false;
    JsonNode terms = nodeAffinity.path(REQUIRED).path("nodeSelectorTerms");
    for (JsonNode term : terms) {
      if (term.path("matchExpressions") instanceof ArrayNode expressions) {
        int before = expressions.size();
        expressions.removeIf(expression -> isOurRequirement(expression, replicas));
        if (expressions.size() < before) {
          expressions.removeIf(StaleReplicaRequirement::isAbsence);
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
