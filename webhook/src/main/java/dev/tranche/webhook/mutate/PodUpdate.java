package dev.tranche.webhook.mutate;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import dev.tranche.api.Names;
import dev.tranche.api.Quantity;
import dev.tranche.webhook.compat.HamiAnnotations;
import dev.tranche.webhook.compat.SharingSystem;
import dev.tranche.webhook.pod.JsonPatch;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.PodView.Container;
import dev.tranche.webhook.pod.Problem;
import dev.tranche.webhook.request.GpuRequests;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Answers an update of a pod that {@link PodMutator} changed at its creation. Whoever applies the
 * manifest again states what Tranche had changed, and Kubernetes would refuse that, since the spec
 * of a pod is fixed. So what Tranche had changed is written back as the pod has it. Whatever else
 * the update changes is left to the API server. Every value that is written is the one that the pod
 * has already, so no answer can change a pod.
 */
public final class PodUpdate {
  private static final String DEFAULT_SCHEDULER = "default-scheduler";
  private static final String[] TERMS = {
    "affinity",
    "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms"
  };

  private final MutationRules rules;
  private final PodView before;
  private final PodView after;
  private final JsonPatch patch = new JsonPatch();

  private PodUpdate(MutationRules rules, PodView before, PodView after) {
    this.rules = rules;
    this.before = before;
    this.after = after;
  }

  /**
   * @param before the pod as it is
   * @param after the pod as the update would make it
   */
  public static Mutation restore(JsonNode before, JsonNode after, MutationRules rules) {
    return new PodUpdate(rules, new PodView(before), new PodView(after)).restore();
  }

  private Mutation restore() {
    GpuRequests requests = requests();
    restoreResources(requests);
    restoreTerms(requests);
    restoreScheduler();
    return patch.isEmpty()
        ? new Mutation.Unchanged(List.of())
        : new Mutation.Patched(patch, List.of());
  }

  /** Returns the requests by which the pod was admitted. Another scheduler's pod has no shares. */
  private GpuRequests requests() {
    String resource = rules.resources().getFirst();
    var problems = new ArrayList<Problem>();
    GpuRequests shares = GpuRequests.read(before, resource, problems);
    return (problems.isEmpty() ? shares : GpuRequests.NONE).withPlain(before, resource, problems);
  }

  /** Writes replicas in the place of the number of GPUs that they stand for. */
  private void restoreResources(GpuRequests requests) {
    Map<Container, Integer> gpus = new HashMap<>();
    requests.requests().forEach(r -> gpus.put(r.container(), requests.gpus(r)));
    for (Container container : after.containers()) {
      before
          .container(container.name())
          .filter(known -> known.list().equals(container.list()))
          .ifPresent(known -> restore(container, known, gpus.getOrDefault(known, 0)));
    }
  }

  /**
   * @param gpus the GPUs of the container's request; 0 if it has none
   */
  private void restore(Container container, Container known, int gpus) {
    String resource = rules.resources().getFirst();
    for (String section : List.of("limits", "requests")) {
      JsonNode quantities = container.spec().path("resources").path(section);
      JsonNode knownQuantities = known.spec().path("resources").path(section);
      JsonNode replicas = knownQuantities.path(resource);
      if (gpus > 0 && count(quantities.path(resource)) == gpus && count(replicas) > gpus) {
        patch.add(replicas, container.path("resources", section, resource));
      }
      if (rules.dialects().contains(SharingSystem.HAMI)) {
        HamiAnnotations.RESOURCES.stream()
            .filter(r -> quantities.has(r) && !knownQuantities.has(r))
            .forEach(r -> patch.remove(container.path("resources", section, r)));
      }
    }
  }

  private static long count(JsonNode quantity) {
    return Quantity.parse(quantity.asText("")).orElse(0);
  }

  private void restoreScheduler() {
    String scheduler = rules.schedulerName();
    if (!scheduler.isEmpty()
        && before.text("schedulerName").equals(scheduler)
        && after.text("schedulerName").equals(DEFAULT_SCHEDULER)) {
      patch.add(scheduler, "spec", "schedulerName");
    }
  }

  /** Writes the terms of node affinity to which Tranche had added requirements. */
  private void restoreTerms(GpuRequests requests) {
    JsonNode terms = after.spec().at("/" + String.join("/", TERMS));
    JsonNode known = before.spec().at("/" + String.join("/", TERMS));
    if (terms.isEmpty() || terms.equals(known) || !areNarrowed(terms, known, requests)) {
      return;
    }
    String[] path = new String[TERMS.length + 1];
    path[0] = "spec";
    System.arraycopy(TERMS, 0, path, 1, TERMS.length);
    patch.add(known, path);
  }

  /** Whether each term is found again, once or as the two alternatives that Tranche makes of it. */
  private boolean areNarrowed(JsonNode terms, JsonNode known, GpuRequests requests) {
    int next = 0;
    for (JsonNode term : terms) {
      if (!isNarrowed(term, known.path(next++), requests)) {
        return false;
      }
      if (isForNodesWithoutOurLabel(known.path(next))
          && isNarrowed(term, known.path(next), requests)) {
        next++;
      }
    }
    return next == known.size();
  }

  private static boolean isForNodesWithoutOurLabel(JsonNode term) {
    return term.path("matchExpressions")
        .valueStream()
        .anyMatch(
            each ->
                each.path("key").asText("").equals(Names.LABEL_REPLICAS_PER_GPU)
                    && each.path("operator").asText("").equals("DoesNotExist"));
  }

  /** Whether a term is the other one, with none but our requirements added at its end. */
  private boolean isNarrowed(JsonNode term, JsonNode narrowed, GpuRequests requests) {
    JsonNode expressions = term.path("matchExpressions");
    JsonNode known = narrowed.path("matchExpressions");
    if (!term.path("matchFields").equals(narrowed.path("matchFields"))
        || known.size() < expressions.size()) {
      return false;
    }
    for (int i = 0; i < known.size(); i++) {
      boolean holds =
          i < expressions.size()
              ? known.path(i).equals(expressions.path(i))
              : isOurs(known.path(i), requests);
      if (!holds) {
        return false;
      }
    }
    return true;
  }

  private boolean isOurs(JsonNode expression, GpuRequests requests) {
    Map<String, String> annotations = before.annotations();
    String operator = expression.path("operator").asText("");
    return switch (expression.path("key").asText("")) {
      case Names.LABEL_REPLICAS_PER_GPU ->
          operator.equals("DoesNotExist") || isReplicas(expression, operator);
      case Names.LABEL_REPLICAS -> isReplicas(expression, operator);
      case Names.LABEL_MEMORY ->
          (operator.equals("In") || operator.equals("Gt")) && requests.memoryBytesMax().isPresent();
      case Names.LABEL_MEMORY_USABLE ->
          operator.equals("NotIn") && requests.memoryBytesMax().isPresent();
      case Names.SERVED_BY ->
          (operator.equals("In") || operator.equals("NotIn")) && isOnly(expression, Names.DRA);
      case Names.LABEL_PRODUCT ->
          operator.equals("NotIn") && annotations.containsKey(Names.GPU_MODEL);
      case Names.LABEL_SHARING, Names.LABEL_SHARING_STRATEGY ->
          operator.equals("NotIn")
              && isOnly(expression, "mps")
              && before.spec().path("hostPID").asBoolean(false);
      default -> false;
    };
  }

  private boolean isReplicas(JsonNode expression, String operator) {
    return operator.equals("In")
        && isOnly(expression, before.annotations().getOrDefault(Names.REPLICAS_PER_GPU, ""));
  }

  private static boolean isOnly(JsonNode expression, String value) {
    return expression.path("values") instanceof ArrayNode values
        && values.size() == 1
        && values.path(0).asText("").equals(value);
  }
}
