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

/** Collects what a reader of a Pod finds, in any order; {@link #facts} is the sum. */
public final class PodDraft {
  private static final String OURS = "tranche.dev/";
  private static final int REPLICAS_MAX = 1_000_000;

  /** The API server writes whole thousands as {@code 2k}. */
  private static final Pattern QUANTITY = Pattern.compile("(\\d{1,7})(k?)");

  private record Asking(
      String name, Kind kind, Map<String, String> limits, Map<String, String> requests) {}

  private Map<String, String> overhead = Map.of();
  private final List<Asking> inits = new ArrayList<>();
  private final List<Asking> apps = new ArrayList<>();
  private final Map<String, String> annotations = new HashMap<>();
  private String uid = "";
  private String namespace = "";
  private String name = "";
  private String phase = "";
  private @Nullable String node;
  private final Map<String, String> labels = new HashMap<>();
  private int priority;
  private long createdAtMs;

  /** 0: it has not started. */
  private long startedAtMs;

  private boolean leaving;
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
    return leaving(rfc3339 != null && !rfc3339.isEmpty());
  }

  public PodDraft leaving(boolean value) {
    leaving = value;
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
    inits.add(new Asking(container, kind, limits, requests));
    return this;
  }

  public PodDraft container(
      String container, Map<String, String> limits, Map<String, String> requests) {
    apps.add(new Asking(container, Kind.APP, limits, requests));
    return this;
  }

  /** What its runtime class adds to what its containers request. */
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

  /** What it requests beside GPUs; most pods are never asked for it. */
  public HostRequest host() {
    var sum = new HostRequest.Sum();
    sum.overhead(HostRequest.of(overhead));
    inits.forEach(c -> sum.init(HostRequest.of(c.requests()), c.kind() == Kind.SIDECAR));
    apps.forEach(c -> sum.app(HostRequest.of(c.requests())));
    return sum.total();
  }

  /**
   * The annotation by which it asks for a share that nobody has turned into a request; empty if it
   * has one, or ends.
   */
  public Optional<String> unmetShare(List<String> resources) {
    if (annotations.isEmpty()) {
      return Optional.empty();
    }
    boolean stamped = annotations.containsKey(Names.REPLICAS_PER_GPU);
    if (leaving || ended() || (stamped && resources.stream().anyMatch(this::asksFor))) {
      return Optional.empty();
    }
    return annotations.keySet().stream().filter(PodDraft::asksForShare).sorted().findFirst();
  }

  private static boolean asksForShare(String annotation) {
    return annotation.equals(Names.GPU_FRACTION)
        || annotation.equals(Names.GPU_MEMORY)
        || annotation.startsWith(Names.GPU_FRACTION_OF)
        || annotation.startsWith(Names.GPU_MEMORY_OF);
  }

  /** Whether it has come to its end, well or not. */
  public boolean ended() {
    return phase.equals("Succeeded") || phase.equals("Failed");
  }

  /**
   * The pod's facts; empty if it asks for none of the resources. One that asks for several is
   * placed nowhere, but where others have bound it, it counts against the GPUs of each.
   */
  public Optional<PodFacts> facts(List<String> resources) {
    var asked = new ArrayList<String>(resources.size());
    for (String resource : resources) {
      if (asksFor(resource)) {
        asked.add(resource);
      }
    }
    return asked.isEmpty() ? Optional.empty() : Optional.of(factsOf(asked));
  }

  private boolean asksFor(String resource) {
    return anyAsksFor(inits, resource) || anyAsksFor(apps, resource);
  }

  private static boolean anyAsksFor(List<Asking> containers, String resource) {
    for (Asking container : containers) {
      if (replicas(container, resource) > 0) {
        return true;
      }
    }
    return false;
  }

  private PodFacts factsOf(List<String> asked) {
    List<Demand.Request> requests =
        Stream.concat(inits.stream(), apps.stream())
            .map(c -> new Demand.Request(c.name(), c.kind(), replicas(c, asked)))
            .toList();
    boolean running = phase.equals("Running");
    String resource = String.join(PodFacts.SEVERAL, asked);
    return new PodFacts(
        uid, namespace, name, node, ended(), running, resource, requests, annotations, standing());
  }

  private PreemptionInfo standing() {
    long since = startedAtMs == 0 ? createdAtMs : startedAtMs;
    return new PreemptionInfo(priority, labels, since, leaving, nominatedNode);
  }

  /** Since 1970; 0 of what is no time. */
  private static long millis(String rfc3339) {
    try {
      return Instant.parse(rfc3339).toEpochMilli();
    } catch (DateTimeParseException unreadable) {
      return 0;
    }
  }

  private static int replicas(Asking container, List<String> resources) {
    long sum = resources.stream().mapToLong(r -> replicas(container, r)).sum();
    return (int) Math.min(REPLICAS_MAX, sum);
  }

  private static int replicas(Asking container, String resource) {
    String limit = container.limits().get(resource);
    if (limit == null) {
      return 0;
    }
    Matcher matcher = QUANTITY.matcher(limit);
    if (!matcher.matches()) {
      // Larger than any node: what cannot be read must not be taken for nothing.
      return REPLICAS_MAX;
    }
    int number = Integer.parseInt(matcher.group(1));
    int factor = matcher.group(2).isEmpty() ? 1 : 1_000;
    return (int) Math.min(REPLICAS_MAX, (long) number * factor);
  }
}
