package dev.tranche.extender.ledger;

import java.util.Arrays;
import java.util.Map;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * A hash of each of a pod's labels, which is enough to tell whether a PodDisruptionBudget selects
 * the pod. The labels themselves are not kept, since a tenant may write a megabyte of them.
 */
public final class PodLabels {
  /** No pod that people write has as many. */
  public static final int LABELS_MAX = 64;

  public static final PodLabels NONE = new PodLabels(new long[0]);

  /** The labels of a pod with more than {@link #LABELS_MAX}. */
  private static final PodLabels TOO_MANY = new PodLabels(new long[0]);

  /** Of each key, and of each key with its value; sorted. */
  private final long[] hashes;

  private PodLabels(long[] hashes) {
    this.hashes = hashes;
  }

  public static PodLabels of(Map<String, String> labels) {
    if (labels.isEmpty()) {
      return NONE;
    }
    if (labels.size() > LABELS_MAX) {
      return TOO_MANY;
    }
    long[] hashes =
        labels.entrySet().stream()
            .flatMapToLong(
                label ->
                    LongStream.of(
                        hash(label.getKey(), null), hash(label.getKey(), label.getValue())))
            .sorted()
            .toArray();
    return new PodLabels(hashes);
  }

  /** Returns whether there are too many to tell; the pod then counts as selected. */
  @SuppressWarnings("ReferenceEquality") // The one object says so.
  public boolean tooMany() {
    return this == TOO_MANY;
  }

  public boolean has(String key) {
    return Arrays.binarySearch(hashes, hash(key, null)) >= 0;
  }

  public boolean has(String key, String value) {
    return Arrays.binarySearch(hashes, hash(key, value)) >= 0;
  }

  /** Only the pod's own namespace could gain by labels of equal hashes, and it chooses both. */
  private static long hash(String key, @Nullable String value) {
    // No value of a label is a line break, which stands for the key alone.
    int second = value == null ? '\n' : value.hashCode();
    return (long) key.hashCode() << Integer.SIZE | Integer.toUnsignedLong(second);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof PodLabels labels
        && tooMany() == labels.tooMany()
        && Arrays.equals(hashes, labels.hashes);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(hashes);
  }
}
