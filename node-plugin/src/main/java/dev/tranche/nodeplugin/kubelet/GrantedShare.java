package dev.tranche.nodeplugin.kubelet;

import static java.util.stream.Collectors.toMap;

import dev.tranche.api.GpuPart;
import dev.tranche.api.ReplicaId;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.gpu.Replica;
import dev.tranche.nodeplugin.gpu.Replicas;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/** What a container gets of one GPU. */
record GrantedShare(GpuInfo gpu, GpuSharing how, GpuPart part) {
  private static final int DECIMALS = 4;

  /** Returns the share of each GPU that these replicas are of. */
  static List<GrantedShare> of(Replicas replicas, Collection<String> ids) {
    Map<String, Integer> byUuid =
        ids.stream().collect(toMap(ReplicaId::uuidOf, id -> 1, Integer::sum));
    return replicas.all().stream()
        .map(Replica::gpu)
        .filter(gpu -> byUuid.containsKey(gpu.uuid()))
        .distinct()
        .map(gpu -> of(replicas, gpu, byUuid.getOrDefault(gpu.uuid(), 0)))
        .toList();
  }

  private static GrantedShare of(Replicas replicas, GpuInfo gpu, int picked) {
    GpuSharing how =
        replicas.sharing().getOrDefault(gpu.uuid(), GpuSharing.unshared(replicas.resource()));
    return new GrantedShare(gpu, how, GpuPart.of(picked, how.replicas()));
  }

  /** Returns it rounded down, so that all shares fit. */
  BigDecimal fraction() {
    return new BigDecimal(part.numerator())
        .divide(new BigDecimal(part.denominator()), DECIMALS, RoundingMode.DOWN)
        .stripTrailingZeros();
  }

  /** Returns the part of the memory that programs can use, rounded down; 0 if it is unknown. */
  long memoryMib() {
    return part.of(gpu.usableBytes()) >> 20;
  }

  /** Returns whether it can have a memory limit of the driver's; a whole GPU needs none. */
  boolean takesLimit() {
    return how.takesLimits(gpu) && part.numerator().compareTo(part.denominator()) < 0;
  }
}
