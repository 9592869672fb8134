package dev.tranche.extender.explain;

import static java.util.stream.Collectors.joining;

import dev.tranche.api.Demand;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.List;

/** Writes requests for GPUs as people write them: in fractions of a GPU. */
public final class ShareText {
  private static final int DECIMALS = 3;

  /** Containers that are named one by one. */
  private static final int CONTAINERS_MAX = 4;

  private static final List<String> NUMBERS =
      List.of("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten");

  private ShareText() {}

  /** Returns replicas as a fraction of a GPU, such as {@code 0.4}. */
  public static String fraction(long replicas, int replicasPerGpu) {
    var fraction =
        BigDecimal.valueOf(replicas)
            .divide(BigDecimal.valueOf(replicasPerGpu), DECIMALS, RoundingMode.HALF_UP)
            .stripTrailingZeros();
    return fraction.toPlainString();
  }

  /**
   * Returns what a pod needs, such as {@code 0.4 of one GPU} or {@code 0.4 on each of two GPUs}.
   */
  public static String needs(Demand demand) {
    List<Demand.Container> containers = demand.containers();
    int replicasPerGpu = demand.replicasPerGpu();
    if (containers.size() == 1) {
      return needs(containers.getFirst(), replicasPerGpu);
    }
    if (containers.isEmpty() || containers.size() > CONTAINERS_MAX) {
      return "%s GPUs for %d containers"
          .formatted(fraction(demand.peakReplicas(), replicasPerGpu), containers.size());
    }
    return containers.stream()
        .map(each -> needs(each, replicasPerGpu) + " for container " + each.name())
        .collect(joining(" and "));
  }

  private static String needs(Demand.Container container, int replicasPerGpu) {
    List<Demand.Shares> shares = container.shares();
    if (shares.size() != 1) {
      return fraction(container.replicas(), replicasPerGpu) + " GPUs";
    }
    Demand.Shares equal = shares.getFirst();
    int gpus = equal.count();
    if (equal.replicas() == replicasPerGpu) {
      return gpus == 1 ? "one whole GPU" : number(gpus) + " whole GPUs";
    }
    String share = fraction(equal.replicas(), replicasPerGpu);
    if (gpus > 1) {
      return "%s on each of %s GPUs".formatted(share, number(gpus));
    }
    return share + (container.mayUseSeveralGpus() ? " of a GPU" : " of one GPU");
  }

  private static String number(int count) {
    return count < NUMBERS.size() ? NUMBERS.get(count) : Integer.toString(count);
  }
}
