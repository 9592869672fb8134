package dev.tranche.webhook.pod;

import com.fasterxml.jackson.core.JsonPointer;
import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.api.Quantity;
import dev.tranche.api.RequestBounds;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A pod as the AdmissionReview carries it. It is read from the raw JSON, and never written back, so
 * that fields of newer API versions survive.
 */
public final class PodView {
  private static final JsonPointer TERMS =
      JsonPointer.compile(
          "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms");

  private static final String LIMIT_RANGER = "kubernetes.io/limit-ranger";
  private static final int LIMIT_RANGER_CHARS_MAX = 64 << 10;

  private final JsonNode pod;
  private @Nullable Map<String, String> annotations;
  private @Nullable List<Container> containers;
  private @Nullable Map<String, Container> byName;

  public PodView(JsonNode pod) {
    this.pod = pod;
  }

  /**
   * @param list the field of the spec that contains it
   * @param index its index in that list
   */
  public record Container(String list, int index, String name, Demand.Kind kind, JsonNode spec) {
    /** By its place: a pod has one container there, and JSON is slow to hash. */
    @Override
    public int hashCode() {
      return 31 * list.hashCode() + index;
    }

    @Override
    public boolean equals(@Nullable Object other) {
      return other instanceof Container container
          && index == container.index
          && list.equals(container.list);
    }

    /**
     * Returns how many of a resource it requests. Limits and requests must be equal, so either one
     * is enough.
     */
    public long requested(String resource) {
      JsonNode resources = spec.path("resources");
      return Math.max(
          count(resources.path("limits").path(resource)),
          count(resources.path("requests").path(resource)));
    }

    /** Returns the quantity of a resource that it requests, if that is not a whole number. */
    public Optional<String> partOf(String resource) {
      for (String section : List.of("limits", "requests")) {
        String text = spec.path("resources").path(section).path(resource).asText("");
        if (Quantity.number(text).filter(n -> n.stripTrailingZeros().scale() > 0).isPresent()) {
          return Optional.of(text);
        }
      }
      return Optional.empty();
    }

    /** Returns how many replicas it requests, or one more than any pod may have. */
    public int replicas(String resource) {
      return (int) Math.min(requested(resource), RequestBounds.REPLICAS_MAX + 1);
    }

    /** Returns the path from the root of the pod to a field of this container. */
    public String[] path(String... fields) {
      return Stream.concat(Stream.of("spec", list, String.valueOf(index)), Stream.of(fields))
          .toArray(String[]::new);
    }

    public boolean privileged() {
      return spec.path("securityContext").path("privileged").asBoolean(false);
    }
  }

  /** Returns a quantity of a resource as a whole number; 0 if it is none. */
  public static long count(JsonNode quantity) {
    return Quantity.parse(quantity.asText("")).orElse(0);
  }

  public JsonNode pod() {
    return pod;
  }

  public JsonNode spec() {
    return pod.path("spec");
  }

  /** Returns the terms of a spec's required node affinity; missing if there are none. */
  public static JsonNode requiredTerms(JsonNode spec) {
    return spec.at(TERMS);
  }

  public String text(String field) {
    return spec().path(field).asText("");
  }

  /** Whether something must remove a gate, and may choose nodes, before the pod is scheduled. */
  public boolean isGated() {
    return !spec().path("schedulingGates").isEmpty();
  }

  /** Whether it has a volume that may exist on some nodes only. */
  public boolean claimsVolume() {
    return spec()
        .path("volumes")
        .valueStream()
        .anyMatch(volume -> volume.has("persistentVolumeClaim") || volume.has("ephemeral"));
  }

  /** Returns the annotations in the order of the pod, as they were at the first call. */
  public Map<String, String> annotations() {
    Map<String, String> known = annotations;
    if (known == null) {
      var read = new LinkedHashMap<String, String>();
      pod.path("metadata")
          .path("annotations")
          .forEachEntry((key, value) -> read.put(key, value.asText("")));
      known = Collections.unmodifiableMap(read);
      annotations = known;
    }
    return known;
  }

  /** Returns the R that Tranche has written on the pod; 0 if none, or not a number. */
  public int replicasPerGpu() {
    String written = annotations().getOrDefault(Names.REPLICAS_PER_GPU, "");
    return written.matches("[1-9]\\d{0,4}") ? Integer.parseInt(written) : 0;
  }

  /**
   * Returns the containers in the order of the kubelet's admission: init containers and sidecars,
   * then app containers.
   */
  public List<Container> containers() {
    List<Container> known = containers;
    if (known == null) {
      var read = new ArrayList<Container>();
      collect("initContainers", read);
      collect("containers", read);
      known = Collections.unmodifiableList(read);
      containers = known;
    }
    return known;
  }

  public boolean requests(String resource) {
    return containers().stream().anyMatch(c -> c.requested(resource) > 0);
  }

  /**
   * Returns the containers whose number a LimitRange wrote, as the API server notes it: {@code
   * LimitRanger plugin set: cpu, nvidia.com/gpu limit for container main; …}.
   */
  public List<Container> withNumberOfLimitRange(String resource) {
    String note = annotations().getOrDefault(LIMIT_RANGER, "");
    if (note.length() > LIMIT_RANGER_CHARS_MAX) {
      return List.of();
    }
    Set<String> written =
        Stream.of(note.split("[:;] ", -1))
            .filter(each -> List.of(each.split(",? ", -1)).contains(resource))
            .map(each -> each.replaceFirst(".* for ", ""))
            .collect(Collectors.toSet());
    return containers().stream()
        .filter(c -> c.requested(resource) > 0)
        .filter(
            c ->
                written.contains(
                    (c.kind() == Demand.Kind.APP ? "container " : "init container ") + c.name()))
        .toList();
  }

  /** Returns the ephemeral containers, which debug the pod while it runs. */
  public List<Container> ephemeralContainers() {
    var read = new ArrayList<Container>();
    collect("ephemeralContainers", read);
    return read;
  }

  /** Returns the first container of that name. */
  public Optional<Container> container(String name) {
    Map<String, Container> known = byName;
    if (known == null) {
      known =
          containers().stream()
              .collect(Collectors.toMap(Container::name, c -> c, (first, again) -> first));
      byName = known;
    }
    return Optional.ofNullable(known.get(name));
  }

  private void collect(String list, List<Container> into) {
    int index = 0;
    for (JsonNode spec : spec().path(list)) {
      Demand.Kind kind =
          !list.equals("initContainers")
              ? Demand.Kind.APP
              : spec.path("restartPolicy").asText("").equals("Always")
                  ? Demand.Kind.SIDECAR
                  : Demand.Kind.INIT;
      into.add(new Container(list, index++, spec.path("name").asText(""), kind, spec));
    }
  }
}
