package dev.tranche.api;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How much of a node's GPUs is granted and free, as the annotation {@link Names#GPU_USE} begins.
 * The extender writes it, and the webhook reads it.
 *
 * @param tenths granted tenths of a GPU, rounded: for people
 * @param freeReplicas of all GPUs that take pods
 * @param freeShare the replicas that fit on one GPU now, by its measured memory, too
 * @param replicasPerGpu in which the free ones are counted
 */
public record GrantedGpus(
    int tenths, int gpus, long freeReplicas, long freeShare, int replicasPerGpu) {
  /** A longer annotation is not the extender's. */
  private static final int ANNOTATION_CHARS_MAX = 256;

  private static final int TENTHS = 10;
  private static final Duration FREE_SHARE_AGE_MAX = Duration.ofMinutes(10);

  /** An extender of the version before writes no free replicas. */
  private static final Pattern WRITTEN =
      Pattern.compile(
          "(\\d{1,7})\\.(\\d) of (\\d{1,7}) GPUs granted,"
              + "(?: largest free share (\\d{1,4})/([1-9]\\d{0,3}),)?"
              + "(?: (\\d{1,9}) replicas free,)?.* as of (\\S{1,40})",
          Pattern.DOTALL);

  /** What was written, and when. */
  public record Written(GrantedGpus granted, Instant at) {
    /** Returns what counts now: a node's measured memory changes without being written. */
    public GrantedGpus now(Instant now) {
      boolean old = Duration.between(at, now).abs().compareTo(FREE_SHARE_AGE_MAX) > 0;
      return old ? granted.byReplicas() : granted;
    }
  }

  /** Parses the annotation; empty if it was not written by the extender. */
  public static Optional<Written> read(String annotation) {
    Matcher match = WRITTEN.matcher(annotation);
    if (annotation.length() > ANNOTATION_CHARS_MAX || !match.matches()) {
      return Optional.empty();
    }
    int tenths = Integer.parseInt(match.group(1)) * TENTHS + Integer.parseInt(match.group(2));
    int gpus = Integer.parseInt(match.group(3));
    boolean shares = match.group(4) != null;
    int replicasPerGpu = shares ? Integer.parseInt(match.group(5)) : TENTHS;
    long freeShare = shares ? Integer.parseInt(match.group(4)) : 0;
    long freeReplicas =
        match.group(6) != null
            ? Integer.parseInt(match.group(6))
            : ((long) TENTHS * gpus - tenths) * replicasPerGpu / TENTHS;
    var granted = new GrantedGpus(tenths, gpus, freeReplicas, freeShare, replicasPerGpu);
    try {
      return Optional.of(
          new Written(shares ? granted : granted.byReplicas(), Instant.parse(match.group(7))));
    } catch (DateTimeException none) {
      return Optional.empty();
    }
  }

  /** The same without measured memory: all that is free may be on one GPU. */
  private GrantedGpus byReplicas() {
    long share = Math.min(freeReplicas, replicasPerGpu);
    return new GrantedGpus(tenths, gpus, freeReplicas, share, replicasPerGpu);
  }

  /**
   * Returns whether that many replicas are free, and so large a share fits on one GPU.
   *
   * @param ofReplicas of GPUs that have so many
   */
  public boolean leaves(long replicas, long share, int ofReplicas) {
    // Of rounded tenths, the free share is the better bound.
    return replicas * replicasPerGpu <= Math.max(freeReplicas, freeShare) * ofReplicas
        && share * replicasPerGpu <= freeShare * ofReplicas;
  }

  /** Returns whether a larger share than the free one would fit by the granted replicas alone. */
  public boolean sharesLess() {
    return freeShare < byReplicas().freeShare;
  }

  /** Returns the beginning of the annotation. */
  @Override
  public String toString() {
    return String.format(
        Locale.ROOT,
        "%d.%d of %d GPUs granted, largest free share %d/%d, %d replicas free",
        tenths / TENTHS,
        tenths % TENTHS,
        gpus,
        freeShare,
        replicasPerGpu,
        freeReplicas);
  }
}
