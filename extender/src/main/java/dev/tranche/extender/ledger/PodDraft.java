package dev.tranche.extender.ledger;

import dev.tranche.api.Demand;
import dev.tranche.api.Demand.Kind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Collects what a reader of a Pod finds, in any order; {@link #facts} is the sum. */
public final class PodDraft {
  private static final String OURS = "tranche.dev/";
  private static final int REPLICAS_MAX = 1_000_000;

  /** The API server writes whole thousands as {@code 2k}. */
  private static final Pattern QUANTITY = Pattern.compile("(\\d{1,7})(k?)");

  private record Asking(String name, Kind kind, Map<String, String> limits) {}

  private final List<Asking> inits = new ArrayList<>();
  private final List<Asking> apps = new ArrayList<>();
  private final Map<String, String> annotations = new HashMap<>();
  private String uid = "";
  private String namespace = "";
  private String name = "";
  private String phase = "";
  private @Nullable String node;

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

  /**
   * @param restartPolicy of the container; {@code Always} makes a sidecar
   */
  public PodDraft initContainer(
      String container, @Nullable String restartPolicy, Map<String, String> limits) {
    Kind kind = "Always".equals(restartPolicy) ? Kind.SIDECAR : Kind.INIT;
    inits.add(new Asking(container, kind, limits));
    return this;
  }

  public PodDraft container(String container, Map<String, String> limits) {
    apps.add(new Asking(container, Kind.APP, limits));
    return this;
  }

  /**
   * The pod's facts; empty if it asks for none of the resources. Of several the first asked for
   * counts: one pod has shares of one resource.
   */
  public Optional<PodFacts> facts(List<String> resources) {
    return resources.stream().filter(this::asksFor).findFirst().map(this::factsOf);
  }

  private boolean asksFor(String resource) {
    return inits.stream().anyMatch(c -> replicas(c, resource) > 0)
        || apps.stream().anyMatch(c -> replicas(c, resource) > 0);
  }

  private PodFacts factsOf(String resource) {
    var requests = new ArrayList<Demand.Request>();
    inits.forEach(c -> requests.add(new Demand.Request(c.name(), c.kind(), replicas(c, resource))));
    apps.forEach(c -> requests.add(new Demand.Request(c.name(), c.kind(), replicas(c, resource))));
    boolean ended = phase.equals("Succeeded") || phase.equals("Failed");
    boolean running = phase.equals("Running");
    return new PodFacts(
        uid, namespace, name, node, ended, running, resource, requests, annotations);
  }

  private static int replicas(Asking container, String resource) {
    Matcher matcher = QUANTITY.matcher(container.limits().getOrDefault(resource, "0"));
    if (!matcher.matches()) {
      // Larger than any node: what cannot be read must not be taken for nothing.
      return REPLICAS_MAX;
    }
    int number = Integer.parseInt(matcher.group(1));
    int factor = matcher.group(2).isEmpty() ? 1 : 1_000;
    return (int) Math.min(REPLICAS_MAX, (long) number * factor);
  }
}
