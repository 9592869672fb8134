package dev.tranche.webhook.mutate;

import static java.util.stream.Collectors.toMap;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.api.RequestBounds;
import dev.tranche.webhook.pod.Denial;
import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.PodView.Container;
import dev.tranche.webhook.pod.Problem;
import dev.tranche.webhook.pod.SizeLimits;
import dev.tranche.webhook.pod.Warning;
import dev.tranche.webhook.request.GpuRequests;
import dev.tranche.webhook.request.LimitRangeDefaults;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Checks what a pod that requests shares may not be or specify besides. */
final class PodRules {
  /** Resources that are a second way to a GPU: HAMi's, NVIDIA's plain one and those of MIG. */
  private static final Pattern GPU_RESOURCE = Pattern.compile("nvidia\\.com/(gpu|mig-).*");

  private PodRules() {}

  static List<Problem> check(
      PodView pod,
      GpuRequests requests,
      List<Grant> grants,
      ReplicaGranularity granularity,
      String resource,
      boolean numbersCountGpus,
      List<String> warnings) {
    var denials = new ArrayList<Problem>();
    boolean admittedBefore = pod.annotations().containsKey(Names.REPLICAS_PER_GPU);
    for (Grant grant : grants) {
      if (denials.size() > Denial.PER_POD_MAX) {
        return denials;
      }
      if (grant.wholeGpus() > 0) {
        // Handled as by NVIDIA's plugin, privileged or not.
        continue;
      }
      // Spark, KubeRay and others write the number of GPUs beside the share.
      int gpus = numbersCountGpus ? requests.gpus(grant.request()) : 0;
      checkRequest(pod, grant, resource, gpus, admittedBefore, denials);
      if (grant.request().container().privileged()) {
        denials.add(Denial.PRIVILEGED.of(grant.request().container().name()));
      }
    }
    boolean shares = grants.stream().anyMatch(g -> g.wholeGpus() == 0);
    if (shares) {
      checkPod(pod, denials);
    }
    List<Demand.Request> all = requests(pod, grants, resource);
    Optional<Problem> many = SizeLimits.tooManyWithGpus(all);
    if (many.isPresent()) {
      denials.add(many.get());
      return denials;
    }
    Map<String, String> annotations = requests.withContainer(pod.annotations());
    Demand demand = Demand.of(resource, granularity.replicasPerGpu(), all, annotations);
    checkSize(demand, granularity, denials, warnings);
    return denials;
  }

  /**
   * @param gpus the number that may be requested beside the share; 0: none
   * @param admittedBefore whether Tranche wrote the request: the pod was restored or copied, or a
   *     webhook after ours has changed it. If R has changed since then, the request is written
   *     again.
   */
  private static void checkRequest(
      PodView pod,
      Grant grant,
      String resource,
      int gpus,
      boolean admittedBefore,
      List<Problem> denials) {
    Container container = grant.request().container();
    JsonNode resources = container.spec().path("resources");
    long requested = container.requested(resource);
    if (requested > 0 && requested != grant.replicas() && requested != gpus && !admittedBefore) {
      denials.add(ownRequest(pod, grant, resource, requested, gpus));
    }
    Stream.of("limits", "requests")
        .flatMap(section -> resources.path(section).propertyStream())
        .map(Map.Entry::getKey)
        .filter(r -> !r.equals(resource) && GPU_RESOURCE.matcher(r).matches())
        .distinct()
        .limit(Denial.PER_POD_MAX + 1L)
        .map(r -> Denial.OTHER_RESOURCE.of(container.name(), Printable.value(r)))
        .forEach(denials::add);
  }

  private static Problem ownRequest(
      PodView pod, Grant grant, String resource, long requested, int gpus) {
    Container container = grant.request().container();
    String key = grant.request().key();
    String text = grant.request().text();
    boolean byLimitRange = LimitRangeDefaults.wrote(pod, container, resource);
    boolean partOfGpu = grant.shareReplicas() <= grant.replicasPerGpu();
    if (gpus > 0 && requested > gpus && partOfGpu && !byLimitRange) {
      String on = gpus == 1 ? "one GPU" : gpus + " GPUs";
      return Denial.REQUEST_OF_MORE_GPUS.of(
          container.name(), resource, requested, key, text, on, Names.GPU_COUNT);
    }
    return (byLimitRange ? Denial.LIMIT_RANGE_REQUEST : Denial.OWN_REQUEST)
        .of(
            container.name(),
            resource,
            requested,
            key,
            text,
            grant.replicas(),
            grant.replicasPerGpu());
  }

  private static void checkPod(PodView pod, List<Problem> denials) {
    String node = pod.text("nodeName");
    if (!node.isEmpty()) {
      denials.add(Denial.NODE_NAME.of(node));
    }
    if (pod.spec().path("os").path("name").asText("").equals("windows")) {
      denials.add(Denial.WINDOWS.of());
    }
  }

  /**
   * Denies more than one GPU if init containers request GPUs. Warns of more GPUs than any eligible
   * node has, since an autoscaler may add a larger node.
   */
  private static void checkSize(
      Demand demand, ReplicaGranularity granularity, List<Problem> denials, List<String> warnings) {
    int replicas = granularity.replicasPerGpu();
    boolean several = demand.containers().stream().anyMatch(c -> c.gpus() > 1);
    if (demand.onOneGpu() && (several || demand.peakReplicas() > replicas)) {
      denials.add(
          Denial.INIT_ABOVE_ONE_GPU.of(
              demand.containers().stream()
                  .filter(c -> c.kind() == Demand.Kind.INIT)
                  .findFirst()
                  .map(Demand.Container::name)
                  .orElse(""),
              replicas,
              several ? "several GPUs" : demand.peakReplicas() + " replicas at the same time"));
      return;
    }
    if (demand.peakReplicas() > RequestBounds.REPLICAS_MAX) {
      denials.add(
          Denial.ABOVE_ANY_NODE.of(
              "%d replicas of 1/%d GPU".formatted(demand.peakReplicas(), replicas),
              String.valueOf(RequestBounds.REPLICAS_MAX)));
      return;
    }
    int gpusMax = granularity.gpusMax().orElse(Integer.MAX_VALUE);
    int shares = demand.containers().stream().mapToInt(Demand.Container::gpus).max().orElse(0);
    if (shares > gpusMax || demand.peakReplicas() > (long) gpusMax * replicas) {
      int wanted = Math.max(shares, Math.ceilDiv(demand.peakReplicas(), replicas));
      warnings.add(Warning.TOO_MANY_GPUS.of(wanted, gpusMax));
    }
  }

  /** Returns what the containers request, as the extender will read it. */
  private static List<Demand.Request> requests(PodView pod, List<Grant> grants, String resource) {
    Map<Container, Integer> granted =
        grants.stream()
            .collect(toMap(g -> g.request().container(), Grant::replicas, (first, twice) -> first));
    return pod.containers().stream()
        .map(
            c ->
                new Demand.Request(
                    c.name(), c.kind(), granted.getOrDefault(c, c.replicas(resource))))
        .toList();
  }
}
