package dev.tranche.extender.ledger;

import dev.tranche.api.Demand;
import dev.tranche.api.Demand.Kind;
import dev.tranche.api.Names;
import dev.tranche.extender.score.packing.HostRequest;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A builder that collects the fields of a Pod in any order; {@link #facts} returns the result. */
public final class PodDraft {
  private static final String OURS = "tranche.dev/";
  private static final int REPLICAS_MAX = 1_000_000;

  /** The API server writes whole thousands as {@code 2k}. */
  private static final Pattern QUANTITY = Pattern.compile("(\\d{1,7})(k?)");

  private record ContainerDraft(
      String name, Kind kind, Map<String, String> limits, Map<String, String> requests) {}

  private Map<String, String> overhead = Map.of();
  private final List<ContainerDraft> inits = new ArrayList<>();
  private final List<ContainerDraft> apps = new ArrayList<>();
  private final Map<String, String> annotations = new HashMap<>();
  private String uid = "";
  private String namespace = "";
  private String name = "";
  private String phase = "";
  private @Nullable String node;
  private final Map<String, String> labels = new HashMap<>();
  private int priority;
  private long createdAtMs;

  /** 0 if the pod has not started. */
  private long startedAtMs;

  /** When its grace period ends; 0 if it is not terminating. */
  private long deletionAtMs;

  private boolean terminating;
  private boolean constrained;
  private @Nullable String nominatedNode;

  public PodDraft identity(String podNamespace, String podName, String podUid) {
    namespace = podNamespace;
    name = podName;
    uid = podUid;
    return this;
  }

  public PodDraft uid(String value) {
    uid = value;
    return this;
  }

  public PodDraft namespace(String value) {
    namespace = value;
    return this;
  }

  public PodDraft name(String value) {
    name = value;
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
    if (key.startsWith(OURS)) {
      annotations.put(key, value);
    }
    return this;
  }

  public PodDraft label(String key, String value) {
    labels.put(key, value);
    return this;
  }

  public PodDraft priority(int value) {
    priority = value;
    return this;
  }

  public PodDraft createdAt(String rfc3339) {
    return createdAtMs(millis(rfc3339));
  }

  public PodDraft createdAtMs(long since1970) {
    createdAtMs = since1970;
    return this;
  }

  public PodDraft startedAt(String rfc3339) {
    return startedAtMs(millis(rfc3339));
  }

  public PodDraft startedAtMs(long since1970) {
    startedAtMs = since1970;
    return this;
  }

  public PodDraft deletedAt(@Nullable String rfc3339) {
    terminating = rfc3339 != null && !rfc3339.isEmpty();
    deletionAtMs = rfc3339 == null ? 0 : millis(rfc3339);
    return this;
  }

  /**
   * @param since1970 0 if it has not been deleted
   */
  public PodDraft deletedAtMs(long since1970) {
    terminating = since1970 != 0;
    deletionAtMs = since1970;
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
    inits.forEach(c -> sum.init(HostRequest.of(c.requests()), c.kind() == Kind.SIDECAR));
    apps.forEach(c -> sum.app(HostRequest.of(c.requests())));
    return sum.total();
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
   * several is never placed. If another scheduler has bound it, it counts against the GPUs of each.
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
    List<Demand.Request> requests =
        Stream.concat(inits.stream(), apps.stream())
            .map(c -> new Demand.Request(c.name(), c.kind(), replicas(c, requested)))
            .toList();
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
        annotations,
        preemption(requested));
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
    return sum.max(peak).plus(NodeNeeds.of(overhead, gpus)).orConstrained(constrained);
  }

  private PreemptionInfo preemption(List<String> gpus) {
    long since = startedAtMs == 0 ? createdAtMs : startedAtMs;
    return new PreemptionInfo(
        priority, labels, since, terminating, nominatedNode, deletionAtMs, needs(gpus));
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
    long sum = resources.stream().mapToLong(r -> replicas(container, r)).sum();
    return (int) Math.min(REPLICAS_MAX, sum);
  }

  private static int replicas(ContainerDraft container, String resource) {
    String limit = container.limits().get(resource);
    if (limit == null) {
      return 0;
    }
    Matcher matcher = QUANTITY.matcher(limit);
    if (!matcher.matches()) {
      // More than any node has: a quantity that cannot be read must not count as 0.
      return REPLICAS_MAX;
    }
    int number = Integer.parseInt(matcher.group(1));
    int factor = matcher.group(2).isEmpty() ? 1 : 1_000;
    return (int) Math.min(REPLICAS_MAX, (long) number * factor);
  }
}
