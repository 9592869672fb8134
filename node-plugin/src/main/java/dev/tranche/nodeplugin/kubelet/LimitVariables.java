package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.kubelet.ContainerAllocateResponse;
import dev.tranche.nodeplugin.config.AllocateOptions;
import dev.tranche.nodeplugin.limit.NodeLimits;
import java.util.List;
import java.util.Optional;

/** Has NVIDIA's hook limit the memory of a container to its share. */
final class LimitVariables {
  static final String LIMIT = "NVIDIA_GPU_MEMORY_LIMIT";

  /** The soft limit. It would stay with the cgroups above when the container's is removed. */
  static final String REQUEST = "NVIDIA_GPU_MEMORY_REQUEST";

  private LimitVariables() {}

  /** Returns why a share cannot have the limit that it must have; empty if it can. */
  static Optional<String> obstacle(
      NodeLimits limits, AllocateOptions options, List<GrantedShare> shares) {
    return shares.stream()
        .filter(GrantedShare::takesLimit)
        .flatMap(share -> limits.obstacle(share.gpu().uuid(), options).stream())
        .findFirst();
  }

  /**
   * Adds the limit. The hook sets the same one for each GPU of the container, so of several GPUs
   * the smallest share counts.
   */
  static void add(
      ContainerAllocateResponse.Builder response, NodeLimits limits, List<GrantedShare> shares) {
    if (limits.required() && shares.stream().anyMatch(GrantedShare::takesLimit)) {
      long mib = shares.stream().mapToLong(GrantedShare::memoryMib).min().orElseThrow();
      response.putEnvs(LIMIT, Long.toString(mib)).putEnvs(REQUEST, "0");
    }
  }
}
