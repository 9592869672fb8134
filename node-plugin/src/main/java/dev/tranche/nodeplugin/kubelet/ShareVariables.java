package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.GpuPart;
import dev.tranche.api.ReplicaId;
import dev.tranche.api.kubelet.ContainerAllocateResponse;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.Replicas;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Tells a container its share, so that a program can be started with the memory that it may use.
 * The kubelet replaces {@code $(TRANCHE_GPU_FRACTION)} in a container's command and args.
 */
final class ShareVariables {
  static final String FRACTION = "TRANCHE_GPU_FRACTION";
  static final String MEMORY_MIB = "TRANCHE_GPU_MEMORY_MIB";

  private static final int DECIMALS = 4;

  private final Replicas replicas;

  ShareVariables(Replicas replicas) {
    this.replicas = replicas;
  }

  /** What a container gets of one GPU. */
  private record Share(GpuPart part, long usableBytes) {
    BigDecimal fraction() {
      return new BigDecimal(part.numerator())
          .divide(new BigDecimal(part.denominator()), DECIMALS, RoundingMode.DOWN)
          .stripTrailingZeros();
    }

    long memoryMib() {
      return part.of(usableBytes) >> 20;
    }
  }

  /**
   * Adds the share of one GPU, rounded down. A program has one setting for all GPUs, so of several
   * GPUs the smallest share counts. Leaves out the memory where NVML does not tell the GPU's.
   */
  void addTo(ContainerAllocateResponse.Builder response, Collection<String> ids) {
    List<Share> shares = shares(ids);
    shares.stream()
        .map(Share::fraction)
        .min(Comparator.naturalOrder())
        .ifPresent(fraction -> response.putEnvs(FRACTION, fraction.toPlainString()));
    if (shares.stream().allMatch(share -> share.usableBytes > 0)) {
      shares.stream()
          .mapToLong(Share::memoryMib)
          .min()
          .ifPresent(mib -> response.putEnvs(MEMORY_MIB, Long.toString(mib)));
    }
  }

  private List<Share> shares(Collection<String> ids) {
    Map<String, Integer> byUuid =
        ids.stream().collect(Collectors.toMap(ReplicaId::uuidOf, id -> 1, Integer::sum));
    return replicas.gpus().stream()
        .filter(gpu -> byUuid.containsKey(gpu.info().uuid()))
        .map(gpu -> share(gpu, byUuid.getOrDefault(gpu.info().uuid(), 0)))
        .toList();
  }

  private Share share(GpuStatus gpu, int picked) {
    GpuSharing how = replicas.sharing().get(gpu.info().uuid());
    return new Share(
        GpuPart.of(picked, how == null ? 1 : how.replicas()), gpu.info().usableBytes());
  }
}
