package dev.tranche.extender.verb;

import dev.tranche.api.Names;
import dev.tranche.api.Printable;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.snapshot.NodeFit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What a Binding writes on its pod: which GPUs it has, and what it got of them. */
final class GrantAnnotations {
  private static final double GIB = 1L << 30;

  private GrantAnnotations() {}

  static Map<String, String> of(Placement place, NodeFit node) {
    String uuids = place.annotation();
    Map<String, GpuView> byUuid =
        node.gpus().stream().collect(Collectors.toMap(GpuView::uuid, Function.identity()));
    List<GpuView> gpus =
        Stream.of(uuids.split(",")).map(byUuid::get).filter(Objects::nonNull).distinct().toList();
    var annotations = new LinkedHashMap<String, String>();
    annotations.put(Names.GPU, uuids);
    if (byUuid.keySet().containsAll(place.held().keySet())) {
      annotations.put(
          Names.GRANTED_REPLICAS,
          place.replicasAnnotation(uuid -> Objects.requireNonNull(byUuid.get(uuid)).replicas()));
    }
    if (!gpus.isEmpty() && gpus.stream().allMatch(gpu -> gpu.memoryUsableBytes() > 0)) {
      annotations.put(
          Names.GRANTED_MEMORY,
          gpus.stream().map(gpu -> memory(gpu, place)).collect(Collectors.joining(",")));
    }
    String models =
        gpus.stream()
            .map(gpu -> Printable.name(gpu.model()))
            .distinct()
            .collect(Collectors.joining(","));
    if (!models.isEmpty()) {
      annotations.put(Names.GPU_MODEL_GRANTED, models);
    }
    return annotations;
  }

  private static String memory(GpuView gpu, Placement place) {
    long bytes = gpu.grantedBytes(place.held().getOrDefault(gpu.uuid(), 0));
    return String.format(Locale.ROOT, "%.1fGi", bytes / GIB);
  }
}
