package dev.tranche.extender.watch;

import dev.tranche.api.Names;
import dev.tranche.api.Taint;
import dev.tranche.extender.ledger.NodeFacts;
import dev.tranche.extender.score.packing.HostRequest;
import dev.tranche.extender.selection.NodeTraits;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Reads the fields of a Node that decisions need. */
public final class NodeReader {
  private NodeReader() {}

  public static ResourceKind<?, WatchedNode> kind(List<String> resources) {
    return new ResourceKind<>("/api/v1/nodes", Fields.class, node -> node.watched(resources));
  }

  record Spec(boolean unschedulable, List<Taint> taints) {
    Spec {
      taints = taints.stream().map(NodeReader::interned).toList();
    }
  }

  record Status(Map<String, String> allocatable) {}

  private static Taint interned(Taint taint) {
    return new Taint(taint.key().intern(), taint.value().intern(), taint.effect().intern());
  }

  record Fields(Metadata metadata, Spec spec, Status status) {
    Fields {
      spec = spec == null ? new Spec(false, List.of()) : spec;
      status = status == null ? new Status(Map.of()) : status;
    }

    /** Common strings are interned, since thousands of nodes have the same few values. */
    WatchedNode watched(List<String> resources) {
      Map<String, String> labels = metadata.labels();
      Map<String, String> annotations = metadata.annotations();
      Map<String, String> allocatable = status.allocatable;
      String config = labels.getOrDefault(Names.LABEL_CONFIG, "").intern();
      boolean advertises =
          resources.stream().anyMatch(r -> !"0".equals(allocatable.getOrDefault(r, "0")));
      return new WatchedNode(
          metadata.uid(),
          metadata.resourceVersion(),
          new NodeFacts(metadata.name(), cordoned(annotations), config, advertises),
          HostRequest.of(allocatable),
          GpuLabels.relevant(labels),
          annotations.getOrDefault(Names.NODE_LABELS, "").intern(),
          annotations.getOrDefault(Names.GPU_USE, ""),
          TaintedNode.of(spec.taints.stream().map(Taint::key).toList(), allocatable),
          // Traits are needed only for nodes with GPUs.
          advertises ? NodeTraits.of(labels, spec.taints, spec.unschedulable) : Optional.empty());
    }
  }

  private static Set<String> cordoned(Map<String, String> annotations) {
    String listed = annotations.get(Names.CORDON_GPUS);
    return listed == null
        ? Set.of()
        : Stream.of(listed.split(",", -1))
            .map(String::strip)
            .filter(uuid -> !uuid.isEmpty())
            .collect(Collectors.toUnmodifiableSet());
  }
}
