package dev.tranche.webhook.pod;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.tranche.api.Demand;
import dev.tranche.api.Names;
import dev.tranche.api.Quantity;
import dev.tranche.api.RequestBounds;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A pod as the AdmissionReview carries it. It is read from the raw JSON, and never written back, so
 * that fields of newer API versions survive.
 */
public final class PodView {
  public static final String REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";

  private static final String LIMIT_RANGER = "kubernetes.io/limit-ranger";
  private static final int LIMIT_RANGER_CHARS_MAX = 64 << 10;

  private final JsonNode pod;
  private final Map<String, String> annotations;
  private final List<Container> containers;

  public PodView(JsonNode pod) {
    this.pod = pod;
    var read = new LinkedHashMap<String, String>();
    pod.path("metadata")
        .path("annotations")
        .forEachEntry((key, value) -> read.put(key, value.asText("")));
    annotations = Collections.unmodifiableMap(read);
    containers = Stream.concat(containers("initContainers"), containers("containers")).toList();
  }

  /**
   * @param list the field of the spec that contains it
   * @param index its index in that list
   */
  public record Container(String list, int index, String name, Demand.Kind kind, JsonNode spec) {
    public static final List<String> SECTIONS = List.of("limits", "requests");

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

    /** Returns its limits and its requests. */
    public Stream<JsonNode> sections() {
      return SECTIONS.stream().map(spec.path("resources")::path);
    }

    /** Returns the quantity of a resource that it requests, if that is not a whole number. */
    public Optional<String> partOf(String resource) {
      return sections()
          .map(section -> text(section, resource))
          .filter(
              text ->
                  Quantity.number(text)
                      .filter(number -> number.stripTrailingZeros().scale() > 0)
                      .isPresent())
          .findFirst();
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
      return spec.path("securityContext").path("privileged").asBoolean();
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

  public JsonNode requiredTerms() {
    return requiredTerms(spec().path("affinity"));
  }

  /** Returns the terms of a required node affinity; missing if there are none. */
  public static JsonNode requiredTerms(JsonNode affinity) {
    return affinity.path("nodeAffinity").path(REQUIRED).path("nodeSelectorTerms");
  }

  /**
   * Returns the object of that name in another one, and creates it if needed. A parent that is no
   * object, which the API server sends of no pod, stays as it is.
   */
  public static ObjectNode object(JsonNode parent, String name) {
    return parent.path(name) instanceof ObjectNode known
        ? known
        : parent instanceof ObjectNode present
            ? present.putObject(name)
            : JsonNodeFactory.instance.objectNode();
  }

  /** Returns the text of a field of the spec. */
  public String text(String field) {
    return text(spec(), field);
  }

  /** Returns the text of a field; empty if there is none, or null. */
  public static String text(JsonNode object, String field) {
    return object.path(field).asText("");
  }

  /** Whether it sees the processes of its node. */
  public boolean sharesHostPids() {
    return spec().path("hostPID").asBoolean();
  }

  public boolean isOfWindows() {
    return text(spec().path("os"), "name").equals("windows");
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

  /** Returns the annotations in the order of the pod, as they were when it was read. */
  public Map<String, String> annotations() {
    return annotations;
  }

  /** Returns the R that Tranche has written on the pod; 0 if none, or not a number. */
  public int replicasPerGpu() {
    return Quantity.positive(annotations().getOrDefault(Names.REPLICAS_PER_GPU, ""));
  }

  /**
   * Returns the containers in the order of the kubelet's admission: init containers and sidecars,
   * then app containers.
   */
  public List<Container> containers() {
    return containers;
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
            .map(each -> each.replaceFirst("^.* for ", ""))
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
    return containers("ephemeralContainers").toList();
  }

  /** Returns the first container of that name. */
  public Optional<Container> container(String name) {
    return containers.stream().filter(container -> container.name().equals(name)).findFirst();
  }

  private Stream<Container> containers(String list) {
    JsonNode specs = spec().path(list);
    return IntStream.range(0, specs.size())
        .mapToObj(
            index -> {
              JsonNode spec = specs.path(index);
              Demand.Kind kind =
                  !list.equals("initContainers")
                      ? Demand.Kind.APP
                      : text(spec, "restartPolicy").equals("Always")
                          ? Demand.Kind.SIDECAR
                          : Demand.Kind.INIT;
              return new Container(list, index, text(spec, "name"), kind, spec);
            });
  }
}
