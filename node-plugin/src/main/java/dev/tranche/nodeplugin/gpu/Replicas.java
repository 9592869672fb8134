package dev.tranche.nodeplugin.gpu;

import static java.util.stream.Collectors.toSet;

import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.gpu.Replica.Stage;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The replicas of one extended resource on this node.
 *
 * @param sharing of its GPUs, by uuid
 * @param all GPU by GPU in NVML's order, including those of an earlier config until they are free
 */
public record Replicas(
    Config config, String resource, Map<String, GpuSharing> sharing, List<Replica> all) {
  /** The GPU that an id is a replica of; empty if this config makes no such replica. */
  public Optional<GpuInfo> gpuOf(String id) {
    return current().filter(r -> r.id().equals(id)).map(Replica::gpu).findFirst();
  }

  private Stream<Replica> current() {
    return all.stream().filter(r -> r.stage() != Stage.RETIRED);
  }

  Replicas healthyOnly(Set<String> uuids) {
    List<Replica> changed =
        all.stream().map(r -> uuids.contains(r.gpu().uuid()) ? r : r.unhealthy()).toList();
    return new Replicas(config, resource, sharing, changed);
  }

  /** Returns the ids without the replicas of an earlier config. */
  public List<String> withoutRetired(List<String> ids) {
    Set<String> retired =
        all.stream().filter(r -> r.stage() == Stage.RETIRED).map(Replica::id).collect(toSet());
    return ids.stream().filter(id -> !retired.contains(id)).toList();
  }

  /** Returns whether two lists have the same replicas, whatever their health. */
  public boolean sameReplicas(Replicas other) {
    return sharing.equals(other.sharing) && currentIds().equals(other.currentIds());
  }

  private List<String> currentIds() {
    return current().map(Replica::id).toList();
  }

  /** Returns whether a container may have at most one shared replica. */
  public boolean failRequestsGreaterThanOne() {
    return sharing.values().stream().anyMatch(GpuSharing::failRequestsGreaterThanOne);
  }
}
