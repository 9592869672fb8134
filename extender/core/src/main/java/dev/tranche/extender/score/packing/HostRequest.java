package dev.tranche.extender.score.packing;

import dev.tranche.api.Quantity;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Map;

/** CPU and memory that a pod or container requests, or that a node has. */
public record HostRequest(long cpuMilli, long memoryMib) {
  public static final HostRequest NONE = new HostRequest(0, 0);

  private static final BigDecimal MIB = BigDecimal.valueOf(1L << 20);
  private static final BigDecimal MAX = BigDecimal.valueOf(1L << 50);

  /**
   * Reads {@code cpu} and {@code memory} from Kubernetes quantities. An unreadable one counts as 0:
   * it only makes a node look emptier to the score, never to the fit.
   */
  public static HostRequest of(Map<String, String> quantities) {
    BigDecimal cpu = number(quantities.getOrDefault("cpu", "0")).movePointRight(3);
    BigDecimal memory = number(quantities.getOrDefault("memory", "0"));
    return new HostRequest(whole(cpu), whole(memory.divide(MIB, 3, RoundingMode.CEILING)));
  }

  private static long whole(BigDecimal number) {
    return number.max(BigDecimal.ZERO).min(MAX).setScale(0, RoundingMode.CEILING).longValue();
  }

  private static BigDecimal number(String quantity) {
    return Quantity.number(quantity).orElse(BigDecimal.ZERO);
  }

  public HostRequest plus(HostRequest other) {
    return new HostRequest(cpuMilli + other.cpuMilli, memoryMib + other.memoryMib);
  }

  HostRequest minus(HostRequest other) {
    return new HostRequest(cpuMilli - other.cpuMilli, memoryMib - other.memoryMib);
  }
}
