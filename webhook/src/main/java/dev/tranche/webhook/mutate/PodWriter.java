package dev.tranche.webhook.mutate;

import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toSet;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import dev.tranche.api.Names;
import dev.tranche.webhook.pod.Added;
import dev.tranche.webhook.pod.JsonPatch;
import dev.tranche.webhook.pod.Messages;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.OwnersPod;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.PodView.Container;
import dev.tranche.webhook.pod.Warning;
import dev.tranche.webhook.request.PlacementAnnotations;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/**
 * Writes what is decided into the owner's pod: the patch makes that of the pod that arrived.
 *
 * @param affinity where the pod may run
 */
record PodWriter(
    OwnersPod owners, RequiredNodeAffinity affinity, MutationRules rules, Messages messages) {
  /**
   * @param runtimeClassExists whether the cluster has the RuntimeClass of GPU pods
   */
  Mutation write(PodDecision decision, boolean runtimeClassExists) {
    PodView pod = owners.pod();
    decision.grants().forEach(this::write);
    warnOfNumbersTakenBack(decision.grants());
    if (affinity.write(messages)) {
      return messages.denial();
    }
    boolean placed = decision.placed();
    var added =
        new Added(
            affinity.added(),
            placed && !pod.text("schedulerName").equals(rules.schedulerName())
                ? rules.schedulerName()
                : "");
    if (!added.schedulerName().isEmpty()) {
      PodView.object(pod.pod(), "spec").put("schedulerName", added.schedulerName());
    }
    if (placed
        && runtimeClassExists
        && !rules.runtimeClass().isEmpty()
        && pod.text("runtimeClassName").isEmpty()) {
      PodView.object(pod.pod(), "spec").put("runtimeClassName", rules.runtimeClass());
    }
    writeResults(results(decision, added), pod);
    JsonPatch patch = JsonPatch.between(owners.arrived().pod(), pod.pod());
    return Mutation.admitted(patch, messages.warnings());
  }

  /** Writes a container's replicas into its requests and limits, which must be equal. */
  private void write(Grant grant) {
    Container container = grant.container();
    JsonNode present = owners.arrived(container).spec().path("resources");
    ObjectNode resources = PodView.object(container.spec(), "resources");
    for (String section : Container.SECTIONS) {
      // Kubernetes' own spelling of the number, 10k for instance, is left alone.
      JsonNode number = present.path(section).path(rules.resource());
      PodView.object(resources, section)
          .set(
              rules.resource(),
              PodView.count(number) == grant.replicas()
                  ? number
                  : TextNode.valueOf(String.valueOf(grant.replicas())));
    }
  }

  private void warnOfNumbersTakenBack(List<Grant> grants) {
    String resource = rules.resource();
    Set<Container> granted = grants.stream().map(Grant::container).collect(toSet());
    owners
        .numbers()
        .forEach(
            (container, gpus) -> {
              long arrived = container.requested(resource);
              if (!granted.contains(container) && arrived != gpus) {
                messages.warn(
                    Warning.NUMBER_TAKEN_BACK,
                    container.name(),
                    resource,
                    arrived,
                    gpus,
                    Names.GPU_FRACTION);
              }
            });
  }

  private static Map<String, String> results(PodDecision decision, Added added) {
    var results = new HashMap<String, String>();
    added.text().ifPresent(text -> results.put(Names.ADDED, text));
    decision.chosen().ifPresent(chosen -> results.put(Names.GPU_CONTAINER, chosen.name()));
    if (decision.byOthers()) {
      results.put(Names.SERVED_BY, Names.OTHER);
    }
    List<Grant> grants = decision.grants();
    if (!grants.isEmpty()) {
      results.put(Names.REPLICAS_PER_GPU, String.valueOf(grants.getFirst().replicasPerGpu()));
    }
    List<Grant> rounded = grants.stream().filter(Grant::roundedUp).toList();
    if (!rounded.isEmpty()) {
      results.put(
          Names.GRANTED_FRACTION,
          grants.size() == 1
              ? rounded.getFirst().fraction()
              : byContainer(rounded, Grant::fraction));
    }
    List<Grant> whole = grants.stream().filter(g -> g.wholeGpus() > 0).toList();
    if (!whole.isEmpty()) {
      results.put(Names.GPUS_REQUESTED, byContainer(whole, Grant::wholeGpus));
    }
    return results;
  }

  private static String byContainer(List<Grant> grants, Function<Grant, Object> value) {
    return grants.stream()
        .map(grant -> grant.container().name() + "=" + value.apply(grant))
        .collect(joining(","));
  }

  private static void writeResults(Map<String, String> results, PodView pod) {
    if (!results.isEmpty() || pod.pod().path("metadata").has("annotations")) {
      ObjectNode annotations = PodView.object(PodView.object(pod.pod(), "metadata"), "annotations");
      annotations.remove(PlacementAnnotations.RESULTS);
      results.forEach(annotations::put);
    }
  }
}
