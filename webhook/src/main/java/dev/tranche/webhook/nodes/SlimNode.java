package dev.tranche.webhook.nodes;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.annotation.JsonDeserialize;
import dev.tranche.api.GrantedGpus;
import dev.tranche.api.Names;
import dev.tranche.api.Taint;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.model.annotation.Group;
import io.fabric8.kubernetes.model.annotation.Kind;
import io.fabric8.kubernetes.model.annotation.Plural;
import io.fabric8.kubernetes.model.annotation.Singular;
import io.fabric8.kubernetes.model.annotation.Version;
import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A node with only the fields that we read. Parsing drops some 20 kB of images, conditions and
 * managed fields of a real node.
 */
@Group("")
@Version("v1")
@Kind("Node")
@Singular("node")
@Plural("nodes")
@JsonIgnoreProperties(ignoreUnknown = true)
// Otherwise the client's own deserializer would look up the kind, find this class and call itself.
@JsonDeserialize(using = JsonDeserializer.None.class)
public class SlimNode implements HasMetadata {
  private static final long serialVersionUID = 1;

  private ObjectMeta metadata = new ObjectMeta();
  private Spec spec = new Spec(List.of(), false);
  private Status status = new Status(Map.of(), Map.of());
  private transient GrantedGpus.@Nullable Written granted;

  /** The taints and the cordon of the node. */
  @JsonIgnoreProperties(ignoreUnknown = true)
  public record Spec(
      @JsonIgnoreProperties(ignoreUnknown = true) List<Taint> taints, boolean unschedulable)
      implements Serializable {
    public Spec(
        @JsonProperty("taints") @Nullable List<Taint> taints,
        @JsonProperty("unschedulable") boolean unschedulable) {
      this.taints = taints == null ? List.of() : List.copyOf(taints);
      this.unschedulable = unschedulable;
    }
  }

  /** The extended resources of the node: those with a domain in their names. */
  @JsonIgnoreProperties(ignoreUnknown = true)
  public record Status(Map<String, String> capacity, Map<String, String> allocatable)
      implements Serializable {
    public Status(
        @JsonProperty("capacity") @Nullable Map<String, String> capacity,
        @JsonProperty("allocatable") @Nullable Map<String, String> allocatable) {
      this.capacity = extended(capacity);
      this.allocatable = extended(allocatable);
    }

    private static Map<String, String> extended(@Nullable Map<String, String> resources) {
      Map<String, String> kept = new HashMap<>();
      if (resources != null) {
        kept.putAll(resources);
      }
      kept.keySet().removeIf(resource -> resource.indexOf('/') < 0);
      return Map.copyOf(kept);
    }
  }

  public Spec getSpec() {
    return spec;
  }

  public void setSpec(@Nullable Spec spec) {
    this.spec = spec == null ? new Spec(List.of(), false) : spec;
  }

  public Status getStatus() {
    return status;
  }

  public void setStatus(@Nullable Status status) {
    this.status = status == null ? new Status(Map.of(), Map.of()) : status;
  }

  @Override
  public ObjectMeta getMetadata() {
    return metadata;
  }

  @Override
  public void setMetadata(ObjectMeta full) {
    metadata =
        new ObjectMetaBuilder()
            .withName(full.getName())
            .withUid(full.getUid())
            .withResourceVersion(full.getResourceVersion())
            .build();
    metadata.setLabels(shared(full.getLabels()));
    granted =
        Optional.ofNullable(full.getAnnotations())
            .map(annotations -> annotations.get(Names.GPU_USE))
            .flatMap(GrantedGpus::read)
            .orElse(null);
  }

  /** Thousands of nodes have the same keys and values, so one copy of each is enough. */
  private static Map<String, String> shared(@Nullable Map<String, String> labels) {
    Map<String, String> shared = new HashMap<>();
    if (labels != null) {
      labels.forEach((key, value) -> shared.put(key.intern(), value.intern()));
    }
    return Map.copyOf(shared);
  }

  /** Of the annotations only what the extender says about the use of the GPUs. */
  Optional<GrantedGpus.Written> granted() {
    return Optional.ofNullable(granted);
  }

  @Override
  public String getApiVersion() {
    return "v1";
  }

  @Override
  public String getKind() {
    return "Node";
  }

  @Override
  public void setApiVersion(String version) {
    // There is only one version.
  }
}
