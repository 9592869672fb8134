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
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What decisions need of a Pod's fields; each is computed on call, since it is rarely needed. */
public record ReadPod(PodFields.Metadata metadata, PodFields.Spec spec, PodFields.Status status) {
  /** A request above the bound counts as this many replicas, which no node has. */
  private static final int ABOVE_BOUND = RequestBounds.REPLICAS_MAX + 1;

  private static final KeptAnnotations.Kept NOTHING_KEPT =
      new KeptAnnotations.Kept(Map.of(), false);

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
    return sum(List.of()).host();
  }

  /**
   * Adds up the containers as kube-scheduler does: ordinary init containers run one by one beside
   * the sidecars before them.
   */
  private NodeNeeds sum(List<String> gpus) {
    NodeNeeds sum = NodeNeeds.NONE;
    NodeNeeds peak = NodeNeeds.NONE;
    for (Container init : spec.initContainers()) {
      NodeNeeds with = sum.plus(NodeNeeds.of(init.resources().requests(), gpus));
      if (init.initKind() == Kind.SIDECAR) {
        sum = with;
      } else {
        peak = peak.max(with);
      }
    }
    for (Container app : spec.containers()) {
      sum = sum.plus(NodeNeeds.of(app.resources().requests(), gpus));
    }
    return sum.max(peak).plus(NodeNeeds.of(spec.overhead(), gpus));
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
    List<String> requested = resources.stream().filter(this::requestsResource).toList();
    return requested.isEmpty() ? Optional.empty() : Optional.of(factsOf(requested));
  }

  private boolean requestsResource(String resource) {
    return Stream.concat(spec.initContainers().stream(), spec.containers().stream())
        .anyMatch(container -> replicas(container, resource) > 0);
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
    for (Container init : spec.initContainers()) {
      int replicas = replicas(init, requested);
      if (replicas > 0) {
        requests.add(new Demand.Request(init.name(), init.initKind(), replicas));
      }
    }
    int first = requests.size();
    for (Container app : spec.containers()) {
      int replicas = replicas(app, requested);
      if (replicas > 0 || requests.size() == first) {
        requests.add(new Demand.Request(app.name(), Kind.APP, replicas));
      }
    }
    return requests;
  }

  private static boolean withinBounds(List<Demand.Request> requests) {
    long asking = requests.stream().filter(r -> r.replicas() > 0).count();
    return asking <= RequestBounds.CONTAINERS_MAX
        && Demand.peakReplicas(requests) <= RequestBounds.REPLICAS_MAX;
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
        sum(gpus).orConstrained(spec.constrained() || isResizing()));
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
    long sum = resources.stream().mapToLong(resource -> replicas(container, resource)).sum();
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
