package dev.tranche.webhook.mutate;

import static java.util.stream.Collectors.toSet;

import dev.tranche.api.Names;
import dev.tranche.webhook.pod.Added;
import dev.tranche.webhook.pod.JsonPatch;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.OwnersPod;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.PodView.Container;
import dev.tranche.webhook.pod.Problem;
import dev.tranche.webhook.pod.Warning;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Writes what is decided about a pod, as a patch of the pod that arrived. */
final class PodWriter {
  private final OwnersPod owners;
  private final MutationRules rules;
  private final JsonPatch patch = new JsonPatch();
  private final List<String> warnings = new ArrayList<>();

  PodWriter(OwnersPod owners, MutationRules rules) {
    this.owners = owners;
    this.rules = rules;
  }

  /**
   * @param runtimeClassExists whether the cluster has the RuntimeClass of GPU pods
   */
  Mutation write(Decision.Admitted decision, boolean runtimeClassExists) {
    decision.translation().write(patch);
    List<Grant> grants =
        decision.grants().granted().map(GrantResult.Granted::grants).orElse(List.of());
    writeNumbers(grants);
    warnings.addAll(decision.warnings());
    Optional<Problem> large = decision.affinity().write(patch);
    if (large.isPresent()) {
      return Mutation.Denied.of(List.of(large.get()));
    }
    boolean placed = decision.grants().placed();
    var added = new Added(decision.affinity().added(), writeScheduler(placed));
    PodView pod = decision.translation().view();
    if (placed
        && runtimeClassExists
        && !rules.runtimeClass().isEmpty()
        && pod.text("runtimeClassName").isEmpty()) {
      patch.add(rules.runtimeClass(), "spec", "runtimeClassName");
    }
    decision
        .grants()
        .chosen()
        .ifPresent(
            chosen ->
                patch.add(
                    chosen.container().name(), "metadata", "annotations", Names.GPU_CONTAINER));
    ResultAnnotations.of(decision, added).write(owners.arrived(), pod, patch);
    return Mutation.admitted(patch, warnings);
  }

  /** Writes the grants, and the owner's numbers where Tranche had written others. */
  private void writeNumbers(List<Grant> grants) {
    String resource = rules.resources().getFirst();
    for (Grant grant : grants) {
      Container arrived = owners.arrived(grant.request().container());
      ResourceWriter.write(grant, arrived, resource, patch);
    }
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

  private void takeBack(Container container, int gpus, String resource) {
    for (String section : List.of("limits", "requests")) {
      if (container.spec().path("resources").path(section).has(resource)) {
        patch.add(String.valueOf(gpus), container.path("resources", section, resource));
      }
    }
    warnings.add(
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
}
