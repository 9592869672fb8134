package dev.tranche.webhook.mutate;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.webhook.compat.HamiAnnotations;
import dev.tranche.webhook.compat.SharingSystem;
import dev.tranche.webhook.pod.Added;
import dev.tranche.webhook.pod.JsonPatch;
import dev.tranche.webhook.pod.Messages;
import dev.tranche.webhook.pod.Mutation;
import dev.tranche.webhook.pod.OwnersPod;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.PodView.Container;
import dev.tranche.webhook.request.GpuRequests;
import dev.tranche.webhook.request.GpuRequests.Request;
import dev.tranche.webhook.request.GpuRequests.Wanted;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Answers an update of a pod that {@link PodMutator} changed at its creation. Whoever applies the
 * manifest again states what Tranche had changed, and Kubernetes would refuse that, since the spec
 * of a pod is fixed. So what Tranche had changed is written back as the pod has it. Whatever else
 * the update changes is left to the API server. Every value that is written is the one that the pod
 * has already, so no answer can change a pod.
 *
 * @param patch what is written back so far
 */
public record PodUpdate(MutationRules rules, OwnersPod before, PodView after, JsonPatch patch) {
  private static final String[] TERMS = {
    "spec", "affinity", "nodeAffinity", PodView.REQUIRED, "nodeSelectorTerms"
  };

  /**
   * @param before the pod as it is
   * @param after the pod as the update would make it
   */
  public static Mutation restore(JsonNode before, JsonNode after, MutationRules rules) {
    var arrived = new PodView(before);
    var pod = OwnersPod.of(arrived, Added.of(arrived), rules.resource(), label -> true);
    return new PodUpdate(rules, pod, new PodView(after), new JsonPatch()).restore();
  }

  private Mutation restore() {
    restoreResources(requests());
    restoreTerms();
    restoreScheduler();
    return Mutation.admitted(patch, List.of());
  }

  /** Returns the requests by which the pod was admitted. Another scheduler's pod has no shares. */
  private GpuRequests requests() {
    String resource = rules.resource();
    var messages = new Messages();
    GpuRequests shares = GpuRequests.read(before.pod(), resource, messages);
    return (messages.denied() ? GpuRequests.NONE : shares)
        .withPlain(before.pod(), resource, messages);
  }

  /** Writes replicas in the place of the number of GPUs that they stand for, or of none. */
  private void restoreResources(GpuRequests requests) {
    Map<Container, List<Long>> numbers = new HashMap<>();
    requests.requests().forEach(r -> numbers.put(r.container(), numbers(requests, r)));
    for (Container container : after.containers()) {
      before
          .arrived()
          .container(container.name())
          .filter(known -> known.list().equals(container.list()))
          .ifPresent(known -> restore(container, known, numbers.getOrDefault(known, List.of())));
    }
  }

  /**
   * Returns what a manifest may state in the place of the replicas: beside a share, also no GPU.
   */
  private static List<Long> numbers(GpuRequests requests, Request request) {
    long gpus = requests.gpus(request);
    return request.wanted() instanceof Wanted.Gpus ? List.of(gpus) : List.of(0L, gpus);
  }

  /**
   * @param numbers that stand for the container's replicas
   */
  private void restore(Container container, Container known, List<Long> numbers) {
    String resource = rules.resource();
    for (String section : Container.SECTIONS) {
      JsonNode quantities = container.spec().path("resources").path(section);
      JsonNode knownQuantities = known.spec().path("resources").path(section);
      JsonNode replicas = knownQuantities.path(resource);
      long stated = PodView.count(quantities.path(resource));
      if (quantities.has(resource)
          && numbers.contains(stated)
          && PodView.count(replicas) > stated) {
        patch.add(replicas, container.path("resources", section, resource));
      }
      if (rules.dialects().contains(SharingSystem.HAMI)) {
        HamiAnnotations.RESOURCES.stream()
            .filter(r -> quantities.has(r) && !knownQuantities.has(r))
            .forEach(r -> patch.remove(container.path("resources", section, r)));
      }
    }
  }

  private void restoreScheduler() {
    String scheduler = rules.schedulerName();
    if (!scheduler.isEmpty()
        && before.arrived().text("schedulerName").equals(scheduler)
        && after.text("schedulerName").equals(OwnersPod.DEFAULT_SCHEDULER)) {
      patch.add(scheduler, "spec", "schedulerName");
    }
  }

  /** Writes the terms of node affinity where the update states them as the pod's owner did. */
  private void restoreTerms() {
    JsonNode terms = after.requiredTerms();
    JsonNode known = before.arrived().requiredTerms();
    JsonNode owners = before.pod().requiredTerms();
    if (!terms.isEmpty() && !terms.equals(known) && terms.equals(owners)) {
      patch.add(known, TERMS);
    }
  }
}
