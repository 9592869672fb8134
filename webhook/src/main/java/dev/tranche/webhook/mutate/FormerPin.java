package dev.tranche.webhook.mutate;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.Names;
import dev.tranche.webhook.nodes.GpuNode;
import dev.tranche.webhook.pod.PodView;
import java.util.List;

/**
 * What we required of a pod's node when it was first created: the number of replicas per GPU of
 * then. A pod that is restored or copied after that number has gone from the cluster would wait for
 * ever. The requirement is therefore left out, and the pod is sized and placed as a new one.
 */
final class FormerPin {
  private static final String REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";

  private FormerPin() {}

  /**
   * @param nodes all that are labelled
   * @param defaultReplicas what nodes to come will have, so that a requirement of it is no former
   *     one
   * @return the same pod, or a copy without the requirement
   */
  static PodView without(PodView pod, List<GpuNode> nodes, int defaultReplicas) {
    String former = pod.annotations().get(Names.REPLICAS_PER_GPU);
    JsonNode terms = terms(pod.pod());
    if (former == null
        || former.equals(Integer.toString(defaultReplicas))
        || nodes.isEmpty()
        || !pinned(terms, former)
        || offered(nodes, former)) {
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

  private static boolean offered(List<GpuNode> nodes, String replicas) {
    return nodes.stream().anyMatch(n -> replicas.equals(n.labels().get(Names.LABEL_REPLICAS)));
  }

  private static boolean pinned(JsonNode terms, String replicas) {
    return terms
        .valueStream()
        .flatMap(term -> term.path("matchExpressions").valueStream())
        .anyMatch(expression -> ours(expression, replicas));
  }

  private static boolean ours(JsonNode expression, String replicas) {
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
        expressions.removeIf(expression -> ours(expression, replicas));
        boolean emptied = expressions.isEmpty() && before > 0;
        anyNode |= emptied && term.path("matchFields").isEmpty();
      }
    }
    if (anyNode) {
      // Terms are alternatives, and to Kubernetes an empty one is no node at all.
      nodeAffinity.remove(REQUIRED);
    }
  }
}
