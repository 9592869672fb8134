package dev.tranche.extender.ledger;

import dev.tranche.api.Demand;
import dev.tranche.api.Demand.Kind;
import dev.tranche.api.Names;
import dev.tranche.api.Quantity;
import dev.tranche.api.RequestBounds;
import dev.tranche.extender.score.packing.HostRequest;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A builder that collects the fields of a Pod in any order; {@link #facts} returns the result. */
public final class PodDraft {
  /** A request above the bound counts as this many replicas, which no node has. */
  private static final int ABOVE_BOUND = RequestBounds.REPLICAS_MAX + 1;

  /** Nearly all quantities of a GPU resource; the rest is parsed at length. */
  private static final Pattern DIGITS = Pattern.compile("\\d{1,4}");

  private static final KeptAnnotations.Kept NOTHING_KEPT =
      new KeptAnnotations.Kept(Map.of(), false);

  private record ContainerDraft(
      String name, Kind kind, Map<String, String> limits, Map<String, String> requests) {}

  private Map<String, String> overhead = Map.of();

  /** What running containers have, by their names. */
  private final Map<String, List<Map<String, String>>> granted = new HashMap<>();

  private final List<ContainerDraft> inits = new ArrayList<>();
  private final List<ContainerDraft> apps = new ArrayList<>();
  private final Map<String, String> annotations = new HashMap<>();
  private String uid = "";
  private String namespace = "";
  private String name = "";
  private String phase = "";
  private @Nullable String node;
  private final PodLabels.Builder labels = new PodLabels.Builder();
  private int priority;
  private long createdAtMs;

  /** 0 if the pod has not started. */
  private long startedAtMs;

  private boolean started;

  /** When its grace period ends; 0 if it is not terminating. */
  private long deletionAtMs;

  private boolean terminating;
  private boolean constrained;
  private @Nullable String nominatedNode;
  private boolean refused;
  private String refusal = "";
  private String refusalMessage = "";

  public PodDraft identity(String podNamespace, String podName, String podUid) {
    namespace = podNamespace;
    name = podName;
    uid = podUid;
    return this;
  }

  public PodDraft node(@Nullable String value) {
    node = value == null || value.isEmpty() ? null : value;
    return this;
  }

  public PodDraft phase(String value) {
    phase = value;
    return this;
  }

  public PodDraft annotation(String key, String value) {
    if (KeptAnnotations.reads(key)) {
      annotations.put(key, value);
    }
    return this;
  }

  public PodDraft label(String key, String value) {
    labels.add(key, value);
    return this;
  }

  public PodDraft priority(int value) {
    priority = value;
    return this;
  }

  public PodDraft createdAt(String rfc3339) {
    createdAtMs = millis(rfc3339);
    return this;
  }

  public PodDraft startedAt(String rfc3339) {
    started = true;
    startedAtMs = millis(rfc3339);
    return this;
  }

  public PodDraft deletedAt(@Nullable String rfc3339) {
    terminating = rfc3339 != null && !rfc3339.isEmpty();
    deletionAtMs = rfc3339 == null ? 0 : millis(rfc3339);
    return this;
  }

  /** Records that the pod is constrained, in the sense of {@link NodeNeeds}. */
  public PodDraft constrained() {
    constrained = true;
    return this;
  }

  public PodDraft nominatedNode(@Nullable String value) {
    nominatedNode = value == null || value.isEmpty() ? null : value;
    return this;
  }

  /** Reads a condition of the pod's status; only that of kube-scheduler's refusal is kept. */
  public PodDraft condition(String type, String status, String reason, String message) {
    if (type.equals("PodScheduled") && status.equals("False")) {
      refused = true;
      refusal = reason;
      refusalMessage = message;
    }
    return this;
  }

  /**
   * @param restartPolicy of the container; {@code Always} makes a sidecar
   */
  public PodDraft initContainer(
      String container,
      @Nullable String restartPolicy,
      Map<String, String> limits,
      Map<String, String> requests) {
    Kind kind = "Always".equals(restartPolicy) ? Kind.SIDECAR : Kind.INIT;
    inits.add(new ContainerDraft(container, kind, limits, requests));
    return this;
  }

  public PodDraft container(
      String container, Map<String, String> limits, Map<String, String> requests) {
    apps.add(new ContainerDraft(container, Kind.APP, limits, requests));
    return this;
  }

  /**
   * Records what the kubelet has given to a container of CPU, memory and storage. While a resize is
   * under way, that differs from what the container requests.
   */
  public PodDraft granted(String container, Map<String, String> resources) {
    if (!resources.isEmpty()) {
      granted.computeIfAbsent(container, name -> new ArrayList<>(1)).add(resources);
    }
    return this;
  }

  /** Sets what the pod's runtime class adds to its containers' requests. */
  public PodDraft overhead(Map<String, String> requests) {
    overhead = requests;
    return this;
  }

  /** {@code namespace/name}. */
  public String key() {
    return namespace + "/" + name;
  }

  public String uid() {
    return uid;
  }

  public @Nullable String node() {
    return node;
  }

  /** Returns what the pod requests beside GPUs; computed on call, since it is rarely needed. */
  public HostRequest host() {
    var sum = new HostRequest.Sum();
    sum.overhead(HostRequest.of(overhead));
    inits.forEach(c -> sum.init(host(c), c.kind() == Kind.SIDECAR));
    apps.forEach(c -> sum.app(host(c)));
    return sum.total();
  }

  /** While a resize is under way, a container takes the larger of what it requests and has. */
  private HostRequest host(ContainerDraft container) {
    HostRequest largest = HostRequest.of(container.requests());
    for (Map<String, String> has : granted.getOrDefault(container.name(), List.of())) {
      largest = largest.max(HostRequest.of(has));
    }
    return largest;
  }

  /**
   * Returns the annotation that requests a share which no webhook has turned into a resource
   * request. Empty if there is none, or if the pod is terminating or has ended.
   */
  public Optional<String> unmetShare(List<String> resources) {
    if (annotations.isEmpty()) {
      return Optional.empty();
    }
    boolean stamped = annotations.containsKey(Names.REPLICAS_PER_GPU);
    if (terminating
        || ended()
        || (stamped && resources.stream().anyMatch(this::requestsResource))) {
      return Optional.empty();
    }
    return annotations.keySet().stream().filter(PodDraft::requestsShare).sorted().findFirst();
  }

  private static boolean requestsShare(String annotation) {
    return annotation.equals(Names.GPU_FRACTION)
        || annotation.equals(Names.GPU_MEMORY)
        || annotation.startsWith(Names.GPU_FRACTION_OF)
        || annotation.startsWith(Names.GPU_MEMORY_OF);
  }

  /** Returns whether the pod has ended, successfully or not. */
  public boolean ended() {
    return phase.equals("Succeeded") || phase.equals("Failed");
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

  private static boolean anyRequests(List<ContainerDraft> containers, String resource) {
    for (ContainerDraft container : containers) {
      if (replicas(container, resource) > 0) {
        return true;
      }
    }
    return false;
  }

  private PodFacts factsOf(List<String> requested) {
    List<Demand.Request> requests = requests(requested);
    boolean within = withinBounds(requests);
    var kept = within ? KeptAnnotations.of(annotations, requests) : NOTHING_KEPT;
    // A pod that another scheduler has bound holds what it requests, whatever its annotations say.
    if (!within || (!kept.complete() && node == null)) {
      // It fits nowhere, and if it is on a node, it counts against each GPU there.
      requests = List.of(new Demand.Request("", Kind.APP, ABOVE_BOUND));
      kept = NOTHING_KEPT;
    }
    boolean running = phase.equals("Running");
    String resource = String.join(PodFacts.SEVERAL, requested);
    return new PodFacts(
        uid,
        namespace,
        name,
        node,
        ended(),
        running,
        resource,
        requests,
        kept.annotations(),
        preemption(requested),
        refused && node == null && !ended()
            ? SchedulerVerdict.of(refusal, refusalMessage, resource)
            : SchedulerVerdict.NONE);
  }

  /**
   * Returns the requests of the containers that request GPUs, and of the first app container, which
   * a share without a name applies to.
   */
  private List<Demand.Request> requests(List<String> requested) {
    var requests = new ArrayList<Demand.Request>();
    inits.forEach(c -> addIfRequested(c, replicas(c, requested), requests));
    for (int i = 0; i < apps.size(); i++) {
      int replicas = replicas(apps.get(i), requested);
      if (i == 0) {
        requests.add(new Demand.Request(apps.getFirst().name(), Kind.APP, replicas));
      } else {
        addIfRequested(apps.get(i), replicas, requests);
      }
    }
    return requests;
  }

  private static void addIfRequested(
      ContainerDraft container, int replicas, List<Demand.Request> requests) {
    if (replicas > 0) {
      requests.add(new Demand.Request(container.name(), container.kind(), replicas));
    }
  }

  private static boolean withinBounds(List<Demand.Request> requests) {
    long asking = requests.stream().filter(r -> r.replicas() > 0).count();
    return asking <= RequestBounds.CONTAINERS_MAX
        && Demand.peakReplicas(requests) <= RequestBounds.REPLICAS_MAX;
  }

  private NodeNeeds needs(List<String> gpus) {
    NodeNeeds sidecars = NodeNeeds.NONE;
    NodeNeeds peak = NodeNeeds.NONE;
    for (ContainerDraft init : inits) {
      NodeNeeds own = NodeNeeds.of(init.requests(), gpus);
      if (init.kind() == Kind.SIDECAR) {
        sidecars = sidecars.plus(own);
      } else {
        peak = peak.max(sidecars.plus(own));
      }
    }
    NodeNeeds sum = sidecars;
    for (ContainerDraft app : apps) {
      sum = sum.plus(NodeNeeds.of(app.requests(), gpus));
    }
    return sum.max(peak)
        .plus(NodeNeeds.of(overhead, gpus))
        .orConstrained(constrained || isResizing());
  }

  /** kube-scheduler counts the larger of what a pod requests and what it still has. */
  private boolean isResizing() {
    return !granted.isEmpty()
        && Stream.concat(inits.stream(), apps.stream())
            .anyMatch(
                container ->
                    granted.getOrDefault(container.name(), List.of()).stream()
                        .anyMatch(has -> NodeNeeds.differ(container.requests(), has)));
  }

  private PreemptionInfo preemption(List<String> gpus) {
    long since = startedAtMs == 0 ? createdAtMs : startedAtMs;
    return new PreemptionInfo(
        priority,
        keptLabels(),
        since,
        started || !phase.equals("Pending"),
        terminating,
        nominatedNode,
        deletionAtMs,
        needs(gpus));
  }

  /** Only a pod that is on a node can be evicted. */
  private PodLabels keptLabels() {
    return node == null || ended() ? PodLabels.NONE : labels.build();
  }

  /** Returns milliseconds since 1970; 0 if the text is not a valid time. */
  private static long millis(String rfc3339) {
    try {
      return Instant.parse(rfc3339).toEpochMilli();
    } catch (DateTimeParseException unreadable) {
      return 0;
    }
  }

  private static int replicas(ContainerDraft container, List<String> resources) {
    long sum = 0;
    for (String resource : resources) {
      sum += replicas(container, resource);
    }
    return (int) Math.min(ABOVE_BOUND, sum);
  }

  private static int replicas(ContainerDraft container, String resource) {
    String limit = container.limits().get(resource);
    if (limit == null) {
      return 0;
    }
    if (DIGITS.matcher(limit).matches()) {
      return Integer.parseInt(limit);
    }
    // A quantity that cannot be read must not count as 0.
    return (int) Math.min(ABOVE_BOUND, Quantity.parse(limit).orElse(ABOVE_BOUND));
  }
}
