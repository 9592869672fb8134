package dev.tranche.webhook.mutate;

import static java.util.stream.Collectors.toMap;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.pod.Messages;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.PodView.Container;
import dev.tranche.webhook.pod.SizeLimits;
import dev.tranche.webhook.pod.Warning;
import dev.tranche.webhook.request.GpuRequests;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * Checks what a pod that requests shares may not be or specify besides.
 *
 * @param numbersCountGpus whether a number of the resource counts GPUs in this pod
 */
record ShareRules(PodView pod, String resource, boolean numbersCountGpus, Messages messages) {
  /** Resources that are a second way to a GPU: HAMi's, NVIDIA's plain one and those of MIG. */
  private static final Pattern GPU_RESOURCE = Pattern.compile("nvidia\\.com/(gpu|mig-).*");

  void check(GpuRequests requests, Grants granted) {
    // Whole GPUs are handled as by NVIDIA's plugin, privileged or not.
    List<Grant> shares = granted.list().stream().filter(g -> g.wholeGpus() == 0).toList();
    for (Grant grant : shares) {
      if (messages.isFull()) {
        return;
      }
      // Spark, KubeRay and others write the number of GPUs beside the share.
      checkRequest(grant, numbersCountGpus ? requests.gpus(grant.request()) : 0);
      if (grant.container().privileged()) {
        messages.deny(Denial.PRIVILEGED, grant.container().name());
      }
    }
    if (!shares.isEmpty() && !pod.text("nodeName").isEmpty()) {
      messages.deny(Denial.NODE_NAME, pod.text("nodeName"));
    }
    if (!shares.isEmpty() && pod.isOfWindows()) {
      messages.deny(Denial.WINDOWS);
    }
    List<Demand.Request> all = requests(pod, granted.list(), resource);
    int replicasPerGpu = granted.granularity().replicasPerGpu();
    String unit = "replicas of 1/%d GPU".formatted(replicasPerGpu);
    if (!SizeLimits.denyAboveAnyNode(all, unit, messages)) {
      Map<String, String> annotations = requests.withContainer(pod.annotations());
      checkSize(Demand.of(resource, replicasPerGpu, all, annotations), granted.granularity());
    }
  }

  /**
   * @param gpus the number that may be requested beside the share; 0: none
   */
  private void checkRequest(Grant grant, int gpus) {
    Container container = grant.container();
    // Tranche wrote the request of a pod that was restored or copied, or that a webhook after ours
    // has changed. If R has changed since then, the request is written again.
    boolean admittedBefore = pod.annotations().containsKey(Names.REPLICAS_PER_GPU);
    long requested = container.requested(resource);
    if (requested > 0 && requested != grant.replicas() && requested != gpus && !admittedBefore) {
      denyOwnRequest(grant, requested, gpus);
    }
    container
        .sections()
        .flatMap(JsonNode::propertyStream)
        .map(Map.Entry::getKey)
        .filter(r -> !r.equals(resource) && GPU_RESOURCE.matcher(r).matches())
        .distinct()
        .forEach(r -> messages.deny(Denial.OTHER_RESOURCE, container.name(), Printable.value(r)));
  }

  private void denyOwnRequest(Grant grant, long requested, int gpus) {
    Container container = grant.container();
    String name = container.name();
    String key = grant.request().key();
    String text = grant.request().text();
    boolean partOfGpu = grant.shareReplicas() <= grant.replicasPerGpu();
    if (gpus > 0
        && requested > gpus
        && partOfGpu
        && !pod.withNumberOfLimitRange(resource).contains(container)) {
      String on = gpus == 1 ? "one GPU" : gpus + " GPUs";
      messages.deny(
          Denial.REQUEST_OF_MORE_GPUS, name, resource, requested, key, text, on, Names.GPU_COUNT);
    } else {
      int r = grant.replicasPerGpu();
      messages.deny(Denial.OWN_REQUEST, name, resource, requested, key, text, grant.replicas(), r);
    }
  }

  /**
   * Denies more than one GPU if init containers request GPUs. Warns of more GPUs than any eligible
   * node has, since an autoscaler may add a larger node.
   */
  private void checkSize(Demand demand, ReplicaGranularity granularity) {
    int replicas = granularity.replicasPerGpu();
    boolean several = demand.containers().stream().anyMatch(c -> c.gpus() > 1);
    if (demand.onOneGpu() && (several || demand.peakReplicas() > replicas)) {
      messages.deny(
          Denial.INIT_ABOVE_ONE_GPU,
          demand.containers().stream()
              .filter(c -> c.kind() == Demand.Kind.INIT)
              .findFirst()
              .map(Demand.Container::name)
              .orElse(""),
          replicas,
          several ? "several GPUs" : demand.peakReplicas() + " replicas at the same time");
      return;
    }
    int gpusMax = granularity.gpusMax().orElse(Integer.MAX_VALUE);
    int shares = demand.containers().stream().mapToInt(Demand.Container::gpus).max().orElse(0);
    if (shares > gpusMax || demand.peakReplicas() > (long) gpusMax * replicas) {
      int wanted = Math.max(shares, Math.ceilDiv(demand.peakReplicas(), replicas));
      messages.warn(Warning.TOO_MANY_GPUS, wanted, gpusMax);
    }
  }

  /** Returns what the containers request, as the extender will read it. */
  static List<Demand.Request> requests(PodView pod, List<Grant> grants, String resource) {
    Map<Container, Integer> granted =
        grants.stream().collect(toMap(Grant::container, Grant::replicas, (first, twice) -> first));
    return pod.containers().stream()
        .map(
            c ->
                new Demand.Request(
                    c.name(), c.kind(), granted.getOrDefault(c, c.replicas(resource))))
        .toList();
  }
}
