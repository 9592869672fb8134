package dev.tranche.nodeplugin.kubelet;

import dev.tranche.api.kubelet.ContainerAllocateResponse;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalLong;

/**
 * Tells a container its share, so that a program can be started with the memory that it may use.
 * The kubelet replaces {@code $(TRANCHE_GPU_FRACTION)} in a container's command and args.
 */
final class ShareVariables {
  static final String FRACTION = "TRANCHE_GPU_FRACTION";
  static final String MEMORY_MIB = "TRANCHE_GPU_MEMORY_MIB";

  private ShareVariables() {}

  /**
   * Adds the share of one GPU, rounded down. A program has one setting for all GPUs, so of several
   * GPUs the smallest share counts. Leaves out the memory where NVML does not tell the GPU's.
   *
   * @param limitMib the memory limit of the container, which may be below its share
   */
  static void add(
      ContainerAllocateResponse.Builder response,
      List<GrantedShare> shares,
      OptionalLong limitMib) {
    shares.stream()
        .map(GrantedShare::fraction)
        .min(Comparator.naturalOrder())
        .ifPresent(fraction -> response.putEnvs(FRACTION, fraction.toPlainString()));
    if (shares.stream().allMatch(share -> share.gpu().usableBytes() > 0)) {
      shares.stream()
          .mapToLong(GrantedShare::memoryMib)
          .min()
          .ifPresent(
              mib ->
                  response.putEnvs(MEMORY_MIB, Long.toString(Math.min(mib, limitMib.orElse(mib)))));
    }
  }
}
