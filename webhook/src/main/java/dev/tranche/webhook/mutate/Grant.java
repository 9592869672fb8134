package dev.tranche.webhook.mutate;

import dev.tranche.api.Fraction;
import dev.tranche.api.Names;
import dev.tranche.webhook.pod.Warning;
import dev.tranche.webhook.request.GpuRequests;
import dev.tranche.webhook.request.GpuRequests.Ask;
import dev.tranche.webhook.request.GpuRequests.Wanted;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.List;

/**
 * What one container gets for what it asks.
 *
 * @param replicasPerGpu R
 * @param usableBytes memory of one GPU; 0 where nobody asks by memory
 * @param shareReplicas ⌈f·R⌉, on each of its GPUs
 * @param replicas in all
 */
record Grant(Ask ask, int replicasPerGpu, long usableBytes, int shareReplicas, int replicas) {
  /**
   * @param usableBytes at least what any of them asks
   */
  static List<Grant> of(GpuRequests requests, int replicasPerGpu, long usableBytes) {
    return requests.asks().stream()
        .map(
            ask -> {
              int share = share(ask.wanted(), replicasPerGpu, usableBytes);
              int gpus = ask.wanted() instanceof Wanted.Gpus(int whole) ? whole : requests.count();
              int replicas = Math.multiplyExact(share, gpus);
              return new Grant(ask, replicasPerGpu, usableBytes, share, replicas);
            })
        .toList();
  }

  private static int share(Wanted wanted, int replicasPerGpu, long usableBytes) {
    return switch (wanted) {
      case Wanted.Share(Fraction fraction) -> fraction.replicas(replicasPerGpu);
      case Wanted.Memory(long bytes) ->
          Fraction.replicasOfMemory(bytes, usableBytes, replicasPerGpu);
      case Wanted.Gpus gpus -> replicasPerGpu;
    };
  }

  /** Whole GPUs that a plain request asked for; 0: it is a share. */
  int wholeGpus() {
    return ask.wanted() instanceof Wanted.Gpus(int gpus) ? gpus : 0;
  }

  boolean roundedUp() {
    return switch (ask.wanted()) {
      case Wanted.Gpus gpus -> false;
      case Wanted.Share(Fraction fraction) -> !fraction.exactIn(replicasPerGpu);
      case Wanted.Memory(long bytes) ->
          !BigInteger.valueOf(bytes)
              .multiply(BigInteger.valueOf(replicasPerGpu))
              .equals(BigInteger.valueOf(usableBytes).multiply(BigInteger.valueOf(shareReplicas)));
    };
  }

  /** The share that is granted on each GPU: a decimal, or a ratio where that has no end. */
  String fraction() {
    try {
      return BigDecimal.valueOf(shareReplicas)
          .divide(BigDecimal.valueOf(replicasPerGpu))
          .stripTrailingZeros()
          .toPlainString();
    } catch (ArithmeticException endless) {
      return shareReplicas + "/" + replicasPerGpu;
    }
  }

  String warning() {
    String container = ask.container().name();
    return switch (ask.wanted()) {
      case Wanted.Gpus(int gpus) ->
          Warning.WHOLE_GPUS.of(
              container, ask.key(), gpus, gpus, replicas, replicasPerGpu, Names.GPU_FRACTION);
      case Wanted.Share share ->
          Warning.ROUNDED_UP.of(container, ask.text(), fraction(), replicasPerGpu);
      case Wanted.Memory memory ->
          Warning.MEMORY_ROUNDED_UP.of(
              container, ask.text(), fraction(), grantedMib(), replicasPerGpu);
    };
  }

  private long grantedMib() {
    return BigInteger.valueOf(usableBytes)
        .multiply(BigInteger.valueOf(shareReplicas))
        .divide(BigInteger.valueOf(replicasPerGpu))
        .shiftRight(20)
        .longValueExact();
  }
}
