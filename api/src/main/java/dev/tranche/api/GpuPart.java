package dev.tranche.api;

import java.math.BigInteger;

/**
 * A part of one GPU, exact. Counts of replicas add up only if their GPUs are split into equal
 * numbers of replicas: three of ten and one of three are no four of anything. Parts always add up.
 *
 * @param numerator of the reduced fraction, at least 0; a sum of parts may exceed one GPU
 * @param denominator of the reduced fraction, at least 1
 */
public record GpuPart(BigInteger numerator, BigInteger denominator) {
  public static final GpuPart NONE = new GpuPart(BigInteger.ZERO, BigInteger.ONE);

  /** More replicas than all nodes have; the sum of a few still fits into an int. */
  private static final BigInteger REPLICAS_MAX = BigInteger.valueOf(1 << 28);

  public GpuPart {
    if (numerator.signum() < 0 || denominator.signum() < 1) {
      throw new IllegalArgumentException(numerator + "/" + denominator + " is not a part of a GPU");
    }
    BigInteger divisor = numerator.gcd(denominator);
    numerator = numerator.divide(divisor);
    denominator = denominator.divide(divisor);
  }

  /**
   * @param replicasPerGpu R that the replicas are counted in, at least 1
   */
  public static GpuPart of(long replicas, long replicasPerGpu) {
    return new GpuPart(BigInteger.valueOf(replicas), BigInteger.valueOf(replicasPerGpu));
  }

  public GpuPart plus(GpuPart other) {
    if (numerator.signum() == 0) {
      return other;
    }
    return new GpuPart(
        numerator.multiply(other.denominator).add(other.numerator.multiply(denominator)),
        denominator.multiply(other.denominator));
  }

  /** Returns how many replicas cover this part: ⌈part·R⌉, or 2^28 if they are more. */
  public int replicas(int replicasPerGpu) {
    BigInteger[] whole =
        numerator.multiply(BigInteger.valueOf(replicasPerGpu)).divideAndRemainder(denominator);
    return whole[0].add(BigInteger.valueOf(whole[1].signum())).min(REPLICAS_MAX).intValueExact();
  }

  /** Whether this is a whole number of replicas, without rounding up. */
  public boolean exactIn(int replicasPerGpu) {
    return numerator.multiply(BigInteger.valueOf(replicasPerGpu)).mod(denominator).signum() == 0;
  }

  /** Whether this is a whole number of GPUs. */
  public boolean isWhole() {
    return denominator.equals(BigInteger.ONE);
  }

  public boolean isNone() {
    return numerator.signum() == 0;
  }

  /** Returns whether this is more than one whole GPU. */
  public boolean exceedsOneGpu() {
    return numerator.compareTo(denominator) > 0;
  }

  /** Returns this part of an amount, rounded down; at most the largest number. */
  public long of(long wholeGpu) {
    return BigInteger.valueOf(wholeGpu)
        .multiply(numerator)
        .divide(denominator)
        .min(BigInteger.valueOf(Long.MAX_VALUE))
        .longValueExact();
  }

  /** Returns 0 for none, 1 for one whole GPU. */
  public double value() {
    return numerator.doubleValue() / denominator.doubleValue();
  }

  @Override
  public String toString() {
    return isWhole() ? numerator.toString() : numerator + "/" + denominator;
  }
}
