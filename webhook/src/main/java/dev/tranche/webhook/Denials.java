package dev.tranche.webhook;

import static java.util.stream.Collectors.toMap;

import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.webhook.PodView.Container;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** What a pod that asks for fractions may not be or say besides. Each denial is a sentence. */
final class Denials {
  private Denials() {}

  static List<String> of(PodView pod, List<Grant> grants, Cut cut, String resource) {
    var denials = new ArrayList<String>();
    for (Grant grant : grants) {
      contradiction(grant, resource, denials);
      privileged(grant.ask().container(), denials);
    }
    String node = pod.text("nodeName");
    if (!node.isEmpty()) {
      denials.add(
          "spec.nodeName is \"%s\", which goes past the scheduler, so no GPU could be chosen; for that node say nodeSelector: {kubernetes.io/hostname: %1$s}."
              .formatted(node));
    }
    size(demand(pod, grants, cut.replicasPerGpu(), resource), cut, denials);
    return denials;
  }

  private static void contradiction(Grant grant, String resource, List<String> denials) {
    Container container = grant.ask().container();
    long requested = container.requested(resource);
    if (requested > 0 && requested != grant.replicas()) {
      denials.add(
          "container \"%s\" requests %s: %d, and its fraction \"%s\" comes to %d replicas of 1/%d GPU; remove the request, and it will be written for you."
              .formatted(
                  container.name(),
                  resource,
                  requested,
                  grant.ask().text(),
                  grant.replicas(),
                  grant.replicasPerGpu()));
    }
  }

  private static void privileged(Container container, List<String> denials) {
    if (container.privileged()) {
      denials.add(
          "container \"%s\" is privileged, so it would see every GPU of its node whatever its fraction; remove securityContext.privileged, or the fraction."
              .formatted(container.name()));
    }
  }

  /** More than one GPU where init containers ask; more than any node has. */
  private static void size(Demand demand, Cut cut, List<String> denials) {
    int replicas = cut.replicasPerGpu();
    boolean several = demand.containers().stream().anyMatch(c -> c.shares().size() > 1);
    if (demand.onOneGpu() && (several || demand.peakReplicas() > replicas)) {
      denials.add(
          "an init container asks for GPU, so all containers of this pod share one GPU of %d replicas, but they need %s; ask for at most 1 in all, or leave the init container without a GPU."
              .formatted(
                  replicas,
                  several ? "several GPUs" : demand.peakReplicas() + " replicas at one moment"));
      return;
    }
    cut.gpusMax()
        .ifPresent(
            gpusMax -> {
              int shares =
                  demand.containers().stream().mapToInt(c -> c.shares().size()).max().orElse(0);
              if (shares > gpusMax || demand.peakReplicas() > (long) gpusMax * replicas) {
                denials.add(
                    "this pod asks for %s GPUs, and no node that it can land on has more than %d; allowed here is up to %s: \"%2$d\"."
                        .formatted(
                            Math.max(shares, Math.ceilDiv(demand.peakReplicas(), replicas)),
                            gpusMax,
                            Names.GPU_FRACTION));
              }
            });
  }

  private static Demand demand(
      PodView pod, List<Grant> grants, int replicasPerGpu, String resource) {
    Map<Container, Integer> granted =
        grants.stream()
            .collect(toMap(g -> g.ask().container(), Grant::replicas, (first, twice) -> first));
    List<Demand.Request> requests =
        pod.containers().stream()
            .map(
                c ->
                    new Demand.Request(
                        c.name(),
                        c.kind(),
                        granted.getOrDefault(c, (int) Math.min(c.requested(resource), 1_000_000))))
            .toList();
    return Demand.of(resource, replicasPerGpu, requests, pod.annotations());
  }
}
