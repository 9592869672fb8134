package dev.tranche.api;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How much of a node's GPUs is granted, as the annotation {@link Names#GPU_USE} begins. The
 * extender writes it, and the webhook reads it.
 *
 * @param tenths tenths of a GPU
 * @param freeShare the replicas that fit on one GPU now, by its measured memory, too
 * @param replicasPerGpu of that GPU; 0 if the free share is not known
 */
public record GrantedGpus(int tenths, int gpus, int freeShare, int replicasPerGpu) {
  /** A longer annotation is not the extender's. */
  private static final int ANNOTATION_CHARS_MAX = 256;

  private static final int TENTHS = 10;
  private static final Duration FREE_SHARE_AGE_MAX = Duration.ofMinutes(10);
  private static final Pattern WRITTEN =
      Pattern.compile(
          "(\\d{1,7})\\.(\\d) of (\\d{1,7}) GPUs granted,"
              + "(?: largest free share (\\d{1,4})/([1-9]\\d{0,3}),)?.* as of (\\S{1,40})",
          Pattern.DOTALL);

  /** What was written, and when. */
  public record Written(GrantedGpus granted, Instant at) {
    /** Returns what counts now: a node's measured memory changes without being written. */
    public GrantedGpus now(Instant now) {
      boolean old = Duration.between(at, now).abs().compareTo(FREE_SHARE_AGE_MAX) > 0;
      return old ? new GrantedGpus(granted.tenths, granted.gpus, 0, 0) : granted;
    }
  }

  /** Parses the annotation; empty if it was not written by the extender. */
  public static Optional<Written> read(String annotation) {
    Matcher match = WRITTEN.matcher(annotation);
    if (annotation.length() > ANNOTATION_CHARS_MAX || !match.matches()) {
      return Optional.empty();
    }
    boolean shares = match.group(4) != null;
    try {
      var granted =
          new GrantedGpus(
              Integer.parseInt(match.group(1)) * TENTHS + Integer.parseInt(match.group(2)),
              Integer.parseInt(match.group(3)),
              shares ? Integer.parseInt(match.group(4)) : 0,
              shares ? Integer.parseInt(match.group(5)) : 0);
      return Optional.of(new Written(granted, Instant.parse(match.group(6))));
    } catch (DateTimeException none) {
      return Optional.empty();
    }
  }

  /** Returns whether that many GPUs are free, whether or not on one of them. */
  public boolean leaves(double needed) {
    return (double) TENTHS * gpus - tenths >= needed * TENTHS;
  }

  /**
   * Returns whether a share fits on one GPU. If the free share is not known, nothing excludes it.
   *
   * @param replicas of GPUs that have so many
   */
  public boolean fitsShare(int replicas, int ofReplicas) {
    return replicasPerGpu == 0 || (long) replicas * replicasPerGpu <= (long) freeShare * ofReplicas;
  }

  /** Returns whether a larger share than the free one would fit by the granted replicas alone. */
  public boolean sharesLess() {
    return freeShare < replicasPerGpu && leaves((freeShare + 1.0) / replicasPerGpu);
  }

  /** Returns the beginning of the annotation. */
  @Override
  public String toString() {
    String share =
        replicasPerGpu == 0
            ? ""
            : String.format(Locale.ROOT, ", largest free share %d/%d", freeShare, replicasPerGpu);
    return String.format(
            Locale.ROOT, "%d.%d of %d GPUs granted", tenths / TENTHS, tenths % TENTHS, gpus)
        + share;
  }
}
