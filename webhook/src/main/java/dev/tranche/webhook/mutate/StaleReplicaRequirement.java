package dev.tranche.webhook.mutate;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.Names;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.pod.PodView;
import java.util.List;

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
   * @param nodes all labelled nodes
   * @param defaultReplicas the replicas per GPU of future nodes; a requirement of this number is
   *     kept
   * @return the same pod, or a copy without the requirement
   */
  static PodView removeFrom(PodView pod, List<GpuNode> nodes, int defaultReplicas) {
    String former = pod.annotations().get(Names.REPLICAS_PER_GPU);
    JsonNode terms = terms(pod.pod());
    if (former == null
        || former.equals(Integer.toString(defaultReplicas))
        || nodes.isEmpty()
        || !isRequired(terms, former)
        || isOffered(nodes, former)) {
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

  private static boolean isOffered(List<GpuNode> nodes, String replicas) {
    return nodes.stream().anyMatch(n -> replicas.equals(n.labels().get(Names.LABEL_REPLICAS)));
  }

  private static boolean isRequired(JsonNode terms, String replicas) {
    return terms
        .valueStream()
        .flatMap(term -> term.path("matchExpressions").valueStream())
        .anyMatch(expression -> isOurRequirement(expression, replicas));
  }

  private static boolean isOurRequirement(JsonNode expression, String replicas) {
    JsonNode values = expression.path("values");
    return expression.path("key").asText("").equals(Names.LABEL_REPLICAS)
        && expression.path("operator").asText("").equals("In")
        && values.size() == 1
        && values.path(0).asText("").equals(replicas);
  }

  private static void remove(ObjectNode nodeAffinity, String replicas) {
    boolean anyNode = false;
    for (JsonNode term : nodeAffinity.path(REQUIRED).path("nodeSelectorTerms")) {
      if (term.path("matchExpressions") instanceof ArrayNode expressions) {
        int before = expressions.size();
        expressions.removeIf(expression -> isOurRequirement(expression, replicas));
        boolean emptied = expressions.isEmpty() && before > 0;
        anyNode |= emptied && term.path("matchFields").isEmpty();
      }
    }
    if (anyNode) {
      // Terms are alternatives, and the emptied one should admit any node. But to Kubernetes, an
      // empty term matches no node, so nothing is required any more.
      nodeAffinity.remove(REQUIRED);
    }
  }
}
