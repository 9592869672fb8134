package dev.tranche.extender.ledger;

import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
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

  /** Differs between processes, so that nobody can prepare labels of equal hashes. */
  private static final long SEED = ThreadLocalRandom.current().nextLong();

  private static final long PRIME = 0x100000001b3L;

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

  private static long hash(String key, @Nullable String value) {
    long hash = update(SEED, key);
    if (value != null) {
      // No label has this character, so key and value do not run together.
      hash = update((hash ^ '\n') * PRIME, value);
    }
    hash ^= hash >>> 32;
    hash *= 0x9e3779b97f4a7c15L;
    return hash ^ hash >>> 29;
  }

  private static long update(long from, String text) {
    long hash = from;
    for (int i = 0; i < text.length(); i++) {
      hash = (hash ^ text.charAt(i)) * PRIME;
    }
    return hash;
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
