package dev.tranche.extender.watch;

import com.google.protobuf.CodedInputStream;
import dev.tranche.api.Names;
import dev.tranche.api.Taint;
import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.selection.NodeTraits;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.NodeList;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Reads the fields of a Node that decisions need, from JSON or from its protobuf message.
 *
 * @see <a
 *     href="https://github.com/kubernetes/kubernetes/blob/v1.34.4/staging/src/k8s.io/api/core/v1/generated.proto">the
 *     field numbers</a>
 */
public final class NodeReader {
  private final Map<String, String> labels = new HashMap<>();
  private final Map<String, String> annotations = new HashMap<>();
  private final Map<String, String> allocatable = new HashMap<>();
  private final List<Taint> taints = new ArrayList<>();
  private boolean unschedulable;
  private String name = "";
  private String uid = "";
  private String resourceVersion = "";

  private NodeReader() {}

  public static ResourceKind<Node, WatchedNode> kind(List<String> resources) {
    return new ResourceKind<>(
        "/api/v1/nodes",
        Node.class,
        NodeList.class,
        node -> new NodeReader().model(node).watched(resources),
        in -> new NodeReader().message(in).watched(resources));
  }

  private NodeReader model(Node node) {
    var meta = node.getMetadata();
    name = meta.getName();
    uid = meta.getUid();
    resourceVersion = String.valueOf(meta.getResourceVersion());
    if (meta.getLabels() != null) {
      labels.putAll(meta.getLabels());
    }
    if (meta.getAnnotations() != null) {
      annotations.putAll(meta.getAnnotations());
    }
    if (node.getSpec() != null) {
      node.getSpec()
          .getTaints()
          .forEach(t -> taints.add(taint(t.getKey(), t.getValue(), t.getEffect())));
      unschedulable = Boolean.TRUE.equals(node.getSpec().getUnschedulable());
    }
    if (node.getStatus() != null) {
      allocatable.putAll(PodReader.texts(node.getStatus().getAllocatable()));
    }
    return this;
  }

  private NodeReader message(CodedInputStream in) throws IOException {
    ProtobufFields.fields(
        in,
        number ->
            switch (number) {
              case 1 -> ProtobufFields.message(in, of -> metadata(in, of));
              case 2 -> ProtobufFields.message(in, of -> spec(in, of));
              case 3 ->
                  ProtobufFields.message(
                      in, of -> of == 2 && ProtobufFields.quantity(in, allocatable));
              default -> false;
            });
    return this;
  }

  private boolean spec(CodedInputStream in, int number) throws IOException {
    return switch (number) {
      case 4 -> {
        unschedulable = in.readBool();
        yield true;
      }
      case 5 -> taint(in);
      default -> false;
    };
  }

  private boolean taint(CodedInputStream in) throws IOException {
    var parts = new String[] {"", "", ""};
    ProtobufFields.message(in, of -> of >= 1 && of <= 3 && ProtobufFields.text(in, parts, of - 1));
    return taints.add(taint(parts[0], parts[1], parts[2]));
  }

  private static Taint taint(
      @Nullable String key, @Nullable String value, @Nullable String effect) {
    return new Taint(text(key), text(value), text(effect));
  }

  private static String text(@Nullable String value) {
    return value == null ? "" : value.intern();
  }

  private boolean metadata(CodedInputStream in, int number) throws IOException {
    switch (number) {
      case 1 -> name = in.readString();
      case 5 -> uid = in.readString();
      case 6 -> resourceVersion = in.readString();
      case 11 -> ProtobufFields.entry(in, labels::put);
      case 12 -> ProtobufFields.entry(in, annotations::put);
      default -> {
        return false;
      }
    }
    return true;
  }

  /**
   * Builds the result. Common strings are interned, since thousands of nodes have the same few
   * values.
   */
  private WatchedNode watched(List<String> resources) {
    String config = labels.getOrDefault(Names.LABEL_CONFIG, "").intern();
    boolean advertises =
        resources.stream().anyMatch(r -> !"0".equals(allocatable.getOrDefault(r, "0")));
    return new WatchedNode(
        uid,
        resourceVersion,
        new NodeFacts(name, cordoned(), config, advertises),
        HostRequest.of(allocatable),
        GpuLabels.relevant(labels),
        annotations.getOrDefault(Names.NODE_LABELS, "").intern(),
        annotations.getOrDefault(Names.GPU_USE, ""),
        TaintedNode.of(taints.stream().map(Taint::key).toList(), allocatable),
        // Traits are needed only for nodes with GPUs.
        advertises ? NodeTraits.of(labels, taints, unschedulable) : Optional.empty());
  }

  private Set<String> cordoned() {
    String listed = annotations.get(Names.CORDON_GPUS);
    return listed == null
        ? Set.of()
        : Stream.of(listed.split(",", -1))
            .map(String::strip)
            .filter(uuid -> !uuid.isEmpty())
            .collect(Collectors.toUnmodifiableSet());
  }
}
