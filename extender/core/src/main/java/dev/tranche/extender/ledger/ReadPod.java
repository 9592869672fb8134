package dev.tranche.extender.ledger;

import dev.tranche.api.Demand;
import dev.tranche.api.Demand.Kind;
import dev.tranche.api.Names;
import dev.tranche.api.Quantity;
import dev.tranche.api.RequestBounds;
import dev.tranche.extender.ledger.PodFields.Container;
import dev.tranche.extender.score.packing.HostRequest;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BinaryOperator;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** What decisions need of a Pod's fields; each is computed on call, since it is rarely needed. */
public final class ReadPod {
  /** A request above the bound counts as this many replicas, which no node has. */
  private static final int ABOVE_BOUND = RequestBounds.REPLICAS_MAX + 1;

  private static final KeptAnnotations.Kept NOTHING_KEPT =
      new KeptAnnotations.Kept(Map.of(), false);

  private final PodFields.Metadata metadata;
  private final PodFields.Spec spec;
  private final PodFields.Status status;
  private final List<Container> inits;
  private final List<Container> apps;

  ReadPod(PodFields pod) {
    metadata = pod.metadata();
    spec = pod.spec();
    status = pod.status();
    inits = spec.initContainers();
    apps = spec.containers();
  }

  /** {@code namespace/name}. */
  public String key() {
    return metadata.namespace() + "/" + metadata.name();
  }

  public String uid() {
    return metadata.uid();
  }

  public @Nullable String node() {
    return spec.nodeName().isEmpty() ? null : spec.nodeName();
  }

  /** Returns what the pod requests beside GPUs. */
  public HostRequest host() {
    return sum(
        container -> HostRequest.of(container.resources().requests()),
        HostRequest.NONE,
        HostRequest.of(spec.overhead()),
        HostRequest::plus,
        HostRequest::max);
  }

  /**
   * Adds up the containers as kube-scheduler does: ordinary init containers run one by one beside
   * the sidecars before them.
   */
  private <T> T sum(
      Function<Container, T> of,
      T none,
      T overhead,
      BinaryOperator<T> plus,
      BinaryOperator<T> max) {
    T sidecars = none;
    T peak = none;
    for (Container init : inits) {
      if (init.initKind() == Kind.SIDECAR) {
        sidecars = plus.apply(sidecars, of.apply(init));
      } else {
        peak = max.apply(peak, plus.apply(sidecars, of.apply(init)));
      }
    }
    T sum = sidecars;
    for (Container app : apps) {
      sum = plus.apply(sum, of.apply(app));
    }
    return plus.apply(max.apply(sum, peak), overhead);
  }

  /**
   * Returns the annotation that requests a share which no webhook has turned into a resource
   * request. Empty if there is none, or if the pod is terminating or has ended.
   */
  public Optional<String> unmetShare(List<String> resources) {
    Map<String, String> annotations = metadata.annotations();
    boolean met =
        annotations.containsKey(Names.REPLICAS_PER_GPU)
            && resources.stream().anyMatch(this::requestsResource);
    return met || isTerminating() || ended()
        ? Optional.empty()
        : annotations.keySet().stream().filter(Names::requestsShare).sorted().findFirst();
  }

  /** Returns whether the pod has ended, successfully or not. */
  public boolean ended() {
    return status.phase().equals("Succeeded") || status.phase().equals("Failed");
  }

  private boolean isTerminating() {
    return !metadata.deletionTimestamp().isEmpty();
  }

  /**
   * Returns the pod's facts; empty if it requests none of the resources. A pod that requests
   * several, or more than {@link RequestBounds} allows, is never placed. If another scheduler has
   * bound it, it counts against all GPUs of its node that serve the resources.
   */
  public Optional<PodFacts> facts(List<String> resources) {
    var requested = new ArrayList<String>(resources.size());
    for (String resource : resources) {
      if (requestsResource(resource)) {
        requested.add(resource);
      }
    }
    return requested.isEmpty() ? Optional.empty() : Optional.of(factsOf(requested));
  }

  private boolean requestsResource(String resource) {
    return anyRequests(inits, resource) || anyRequests(apps, resource);
  }

  private static boolean anyRequests(List<Container> containers, String resource) {
    for (Container container : containers) {
      if (replicas(container, resource) > 0) {
        return true;
      }
    }
    return false;
  }

  private PodFacts factsOf(List<String> requested) {
    List<Demand.Request> requests = requests(requested);
    boolean within = withinBounds(requests);
    var kept = within ? KeptAnnotations.of(metadata.annotations(), requests) : NOTHING_KEPT;
    // A pod that another scheduler has bound holds what it requests, whatever its annotations say.
    if (!within || (!kept.complete() && node() == null)) {
      // It fits nowhere, and if it is on a node, it counts against each GPU there.
      requests = List.of(new Demand.Request("", Kind.APP, ABOVE_BOUND));
      kept = NOTHING_KEPT;
    }
    String resource = String.join(PodFacts.SEVERAL, requested);
    return new PodFacts(
        metadata.uid(),
        metadata.namespace(),
        metadata.name(),
        node(),
        ended(),
        status.phase().equals("Running"),
        resource,
        requests,
        kept.annotations(),
        preemption(requested),
        verdict(resource));
  }

  /** Returns kube-scheduler's refusal, if it has refused the pod. */
  private SchedulerVerdict verdict(String resource) {
    if (node() != null || ended()) {
      return SchedulerVerdict.NONE;
    }
    return status.conditions().stream()
        .filter(each -> each.type().equals("PodScheduled") && each.status().equals("False"))
        .findFirst()
        .map(refusal -> SchedulerVerdict.of(refusal.reason(), refusal.message(), resource))
        .orElse(SchedulerVerdict.NONE);
  }

  /**
   * Returns the requests of the containers that request GPUs, and of the first app container, which
   * a share without a name applies to.
   */
  private List<Demand.Request> requests(List<String> requested) {
    var requests = new ArrayList<Demand.Request>();
    inits.forEach(c -> addIfRequested(c, c.initKind(), replicas(c, requested), requests));
    for (int i = 0; i < apps.size(); i++) {
      int replicas = replicas(apps.get(i), requested);
      if (i == 0) {
        requests.add(new Demand.Request(apps.getFirst().name(), Kind.APP, replicas));
      } else {
        addIfRequested(apps.get(i), Kind.APP, replicas, requests);
      }
    }
    return requests;
  }

  private static void addIfRequested(
      Container container, Kind kind, int replicas, List<Demand.Request> requests) {
    if (replicas > 0) {
      requests.add(new Demand.Request(container.name(), kind, replicas));
    }
  }

  private static boolean withinBounds(List<Demand.Request> requests) {
    long asking = requests.stream().filter(r -> r.replicas() > 0).count();
    return asking <= RequestBounds.CONTAINERS_MAX
        && Demand.peakReplicas(requests) <= RequestBounds.REPLICAS_MAX;
  }

  private NodeNeeds needs(List<String> gpus) {
    return sum(
            container -> NodeNeeds.of(container.resources().requests(), gpus),
            NodeNeeds.NONE,
            NodeNeeds.of(spec.overhead(), gpus),
            NodeNeeds::plus,
            NodeNeeds::max)
        .orConstrained(spec.constrained() || isResizing());
  }

  /** kube-scheduler counts the larger of what a pod requests and what it still has. */
  private boolean isResizing() {
    return status.conditions().stream().anyMatch(each -> each.type().startsWith("PodResize"));
  }

  private PreemptionInfo preemption(List<String> gpus) {
    long startedAtMs = millis(status.startTime());
    return new PreemptionInfo(
        spec.priority(),
        // Only a pod that is on a node can be evicted.
        node() == null || ended() ? PodLabels.NONE : PodLabels.of(metadata.labels()),
        startedAtMs == 0 ? millis(metadata.creationTimestamp()) : startedAtMs,
        !status.startTime().isEmpty() || !status.phase().equals("Pending"),
        isTerminating(),
        status.nominatedNodeName().isEmpty() ? null : status.nominatedNodeName(),
        millis(metadata.deletionTimestamp()),
        needs(gpus));
  }

  /** Returns milliseconds since 1970; 0 if the text is not a valid time. */
  private static long millis(String rfc3339) {
    try {
      return Instant.parse(rfc3339).toEpochMilli();
    } catch (DateTimeParseException unreadable) {
      return 0;
    }
  }

  private static int replicas(Container container, List<String> resources) {
    long sum = 0;
    for (String resource : resources) {
      sum += replicas(container, resource);
    }
    return (int) Math.min(ABOVE_BOUND, sum);
  }

  private static int replicas(Container container, String resource) {
    String limit = container.resources().limits().get(resource);
    // A quantity that cannot be read must not count as 0.
    return limit == null
        ? 0
        : (int) Math.min(ABOVE_BOUND, Quantity.parse(limit).orElse(ABOVE_BOUND));
  }
}
