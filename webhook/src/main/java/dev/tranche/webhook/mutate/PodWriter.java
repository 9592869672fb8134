package dev.tranche.webhook.mutate;

import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toSet;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.Names;
import dev.tranche.webhook.pod.Added;
import dev.tranche.webhook.pod.JsonPatch;
import dev.tranche.webhook.pod.Messages;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.OwnersPod;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.PodView.Container;
import dev.tranche.webhook.pod.Problem;
import dev.tranche.webhook.pod.Warning;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/** Writes what is decided about a pod, as a patch of the pod that arrived. */
final class PodWriter {
  /** The extender trusts these annotations, so what the user wrote there does not stay. */
  private static final List<String> RESULTS =
      List.of(
          Names.ADDED,
          Names.GPU,
          Names.GPU_MODEL_GRANTED,
          Names.GPUS_REQUESTED,
          Names.GRANTED_FRACTION,
          Names.GRANTED_MEMORY,
          Names.GRANTED_REPLICAS,
          Names.REPLICAS_PER_GPU,
          Names.SERVED_BY);

  private final OwnersPod owners;
  private final MutationRules rules;
  private final Messages messages;
  private final JsonPatch patch = new JsonPatch();

  PodWriter(OwnersPod owners, MutationRules rules, Messages messages) {
    this.owners = owners;
    this.rules = rules;
    this.messages = messages;
  }

  /**
   * @param runtimeClassExists whether the cluster has the RuntimeClass of GPU pods
   */
  Mutation write(Decision decision, boolean runtimeClassExists) {
    decision.translation().write(patch);
    writeNumbers(decision.grants());
    Optional<Problem> large = decision.affinity().write(patch);
    if (large.isPresent()) {
      return Mutation.Denied.of(List.of(large.get()));
    }
    var added = new Added(decision.affinity().added(), writeScheduler(decision.placed()));
    PodView pod = decision.translation().view();
    if (decision.placed()
        && runtimeClassExists
        && !rules.runtimeClass().isEmpty()
        && pod.text("runtimeClassName").isEmpty()) {
      patch.add(rules.runtimeClass(), "spec", "runtimeClassName");
    }
    decision
        .chosen()
        .ifPresent(
            chosen ->
                patch.add(
                    chosen.container().name(), "metadata", "annotations", Names.GPU_CONTAINER));
    writeResults(results(decision, added), pod);
    return Mutation.admitted(patch, messages.warnings());
  }

  /** Writes the grants, and the owner's numbers where Tranche had written others. */
  private void writeNumbers(List<Grant> grants) {
    String resource = rules.resource();
    grants.forEach(grant -> writeGrant(grant, resource));
    Set<Container> granted = grants.stream().map(g -> g.request().container()).collect(toSet());
    owners
        .numbers()
        .forEach(
            (container, gpus) -> {
              if (!granted.contains(container) && container.requested(resource) != gpus) {
                takeBack(container, gpus, resource);
              }
            });
  }

  /** Writes a container's replicas into its requests and limits, which must be equal. */
  private void writeGrant(Grant grant, String resource) {
    Container arrived = owners.arrived(grant.request().container());
    JsonNode present = arrived.spec().path("resources");
    ObjectNode resources = object(grant.request().container().spec().path("resources"));
    for (String section : List.of("limits", "requests")) {
      ObjectNode quantities = object(resources.path(section));
      // Kubernetes' own spelling of the number, 10k for instance, is left alone.
      JsonNode number = present.path(section).path(resource);
      if (PodView.count(number) == grant.replicas()) {
        quantities.set(resource, number);
      } else {
        quantities.put(resource, String.valueOf(grant.replicas()));
      }
      resources.set(section, quantities);
    }
    if (!resources.equals(present)) {
      patch.add(resources, arrived.path("resources"));
    }
  }

  private static ObjectNode object(JsonNode node) {
    return node instanceof ObjectNode object
        ? object.deepCopy()
        : JsonNodeFactory.instance.objectNode();
  }

  private void takeBack(Container container, int gpus, String resource) {
    for (String section : List.of("limits", "requests")) {
      if (container.spec().path("resources").path(section).has(resource)) {
        patch.add(String.valueOf(gpus), container.path("resources", section, resource));
      }
    }
    messages.warn(
        Warning.NUMBER_TAKEN_BACK.of(
            container.name(), resource, container.requested(resource), gpus, Names.GPU_FRACTION));
  }

  /** Returns the name of the scheduler if it is not the owner's. */
  private String writeScheduler(boolean placed) {
    String owner = owners.pod().text("schedulerName");
    String name = placed && !rules.schedulerName().isEmpty() ? rules.schedulerName() : owner;
    if (!name.equals(owners.arrived().text("schedulerName"))) {
      patch.add(name, "spec", "schedulerName");
    }
    return name.equals(owner) ? "" : name;
  }

  private static Map<String, String> results(Decision decision, Added added) {
    var results = new HashMap<String, String>();
    added.text().ifPresent(text -> results.put(Names.ADDED, text));
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
        .map(grant -> grant.request().container().name() + "=" + value.apply(grant))
        .collect(joining(","));
  }

  /**
   * @param pod as it is after what the patch has done so far
   */
  private void writeResults(Map<String, String> results, PodView pod) {
    if (!results.isEmpty() && !pod.pod().path("metadata").path("annotations").isObject()) {
      patch.add(JsonNodeFactory.instance.objectNode(), "metadata", "annotations");
    }
    Map<String, String> annotations = owners.arrived().annotations();
    for (String key : RESULTS) {
      String value = results.get(key);
      if (value != null && !value.equals(annotations.get(key))) {
        patch.add(value, "metadata", "annotations", key);
      } else if (value == null && annotations.containsKey(key)) {
        patch.remove("metadata", "annotations", key);
      }
    }
  }
}
