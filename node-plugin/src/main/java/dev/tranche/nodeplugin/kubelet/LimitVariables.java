package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.LimitRequest;
import dev.tranche.api.kubelet.ContainerAllocateResponse;
import dev.tranche.nodeplugin.limit.NodeLimits;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** Has NVIDIA's hook limit the memory of a container to its share. */
final class LimitVariables {
  static final String LIMIT = "NVIDIA_GPU_MEMORY_LIMIT";

  /** The soft limit. It would stay with the cgroups above when the container's is removed. */
  static final String REQUEST = "NVIDIA_GPU_MEMORY_REQUEST";

  private LimitVariables() {}

  /**
   * Returns why a share cannot have the limit that it must have; empty if it can.
   *
   * @param wanted what the pod says about the limit, in bytes
   */
  static Optional<String> obstacle(
      NodeLimits limits, List<GrantedShare> shares, OptionalLong wanted) {
    return shares.stream()
        .filter(share -> share.takesLimit() && !limits.optsOut(wanted))
        .flatMap(share -> limits.obstacle(share.gpu()).stream())
        .findFirst();
  }

  /**
   * Returns the limit of a container: that of its share, or a smaller one that its pod asks for;
   * empty if it gets none. The hook sets the same one for each GPU of the container, so of several
   * GPUs the smallest share counts.
   *
   * @param wanted what the pod says about the limit, in bytes
   */
  static OptionalLong mib(NodeLimits limits, List<GrantedShare> shares, OptionalLong wanted) {
    if (!limits.required()
        || limits.optsOut(wanted)
        || shares.stream().noneMatch(GrantedShare::takesLimit)) {
      return OptionalLong.empty();
    }
    long mib = shares.stream().mapToLong(GrantedShare::memoryMib).min().orElseThrow();
    long bytes = wanted.orElse(LimitRequest.NONE);
    return OptionalLong.of(bytes > 0 ? Math.min(mib, bytes >> 20) : mib);
  }

  static void add(ContainerAllocateResponse.Builder response, long mib) {
    response.putEnvs(LIMIT, Long.toString(mib)).putEnvs(REQUEST, "0");
  }
}
