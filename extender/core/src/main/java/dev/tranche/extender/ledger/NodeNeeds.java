package dev.tranche.extender.ledger;

import dev.tranche.api.Quantity;
import dev.tranche.extender.score.packing.HostRequest;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What a pod needs of its node beside GPUs, as kube-scheduler counts it.
 *
 * @param storageBytes ephemeral storage
 * @param constrained these sums do not tell whether kube-scheduler's filters let it run beside
 *     another pod: it has a host port, a required pod affinity or anti-affinity, a spread
 *     constraint, a volume that not every node has, a resource claim, or another resource; or it is
 *     being resized
 */
public record NodeNeeds(long cpuMilli, long memoryBytes, long storageBytes, boolean constrained) {
  public static final NodeNeeds NONE = new NodeNeeds(0, 0, 0, false);

  private static final String CPU = "cpu";
  private static final String MEMORY = "memory";
  private static final String STORAGE = "ephemeral-storage";
  private static final Set<String> COUNTED = Set.of(CPU, MEMORY, STORAGE);

  /** More than a node has; sums of all containers of a pod still fit into a long. */
  private static final BigDecimal MAX = BigDecimal.valueOf(1L << 46);

  /**
   * @param requests of one container
   * @param gpus the resources that the extender counts itself
   */
  static NodeNeeds of(Map<String, String> requests, List<String> gpus) {
    boolean others =
        requests.keySet().stream()
            .anyMatch(name -> !COUNTED.contains(name) && !gpus.contains(name));
    Optional<BigDecimal> cpu = number(requests, CPU);
    Optional<BigDecimal> memory = number(requests, MEMORY);
    Optional<BigDecimal> storage = number(requests, STORAGE);
    boolean unreadable = cpu.isEmpty() || memory.isEmpty() || storage.isEmpty();
    return new NodeNeeds(
        whole(cpu.orElse(BigDecimal.ZERO).movePointRight(3)),
        whole(memory.orElse(BigDecimal.ZERO)),
        whole(storage.orElse(BigDecimal.ZERO)),
        others || unreadable);
  }

  private static Optional<BigDecimal> number(Map<String, String> requests, String resource) {
    return Quantity.number(requests.getOrDefault(resource, "0"));
  }

  private static long whole(BigDecimal number) {
    return number.max(BigDecimal.ZERO).min(MAX).setScale(0, RoundingMode.CEILING).longValue();
  }

  public NodeNeeds plus(NodeNeeds other) {
    return new NodeNeeds(
        cpuMilli + other.cpuMilli,
        memoryBytes + other.memoryBytes,
        storageBytes + other.storageBytes,
        constrained || other.constrained);
  }

  NodeNeeds max(NodeNeeds other) {
    return new NodeNeeds(
        Math.max(cpuMilli, other.cpuMilli),
        Math.max(memoryBytes, other.memoryBytes),
        Math.max(storageBytes, other.storageBytes),
        constrained || other.constrained);
  }

  /** Returns the part that policy {@code packed} counts. */
  HostRequest host() {
    return new HostRequest(cpuMilli, Math.ceilDiv(memoryBytes, 1L << 20));
  }

  NodeNeeds orConstrained(boolean also) {
    return new NodeNeeds(cpuMilli, memoryBytes, storageBytes, constrained || also);
  }
}
