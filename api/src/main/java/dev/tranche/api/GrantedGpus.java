package dev.tranche.api;

import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How much of a node's GPUs is granted, as the annotation {@link Names#GPU_USE} begins. The
 * extender writes it, and the webhook reads it.
 *
 * @param tenths tenths of a GPU
 */
public record GrantedGpus(int tenths, int gpus) {
  /** A longer annotation is not the extender's. */
  public static final int ANNOTATION_CHARS_MAX = 256;

  private static final int TENTHS = 10;
  private static final Pattern BEGINS =
      Pattern.compile("(\\d{1,7})\\.(\\d) of (\\d{1,7}) GPUs granted,.*", Pattern.DOTALL);

  /** Parses the annotation; empty if it was not written by the extender. */
  public static Optional<GrantedGpus> read(String annotation) {
    Matcher match = BEGINS.matcher(annotation);
    if (annotation.length() > ANNOTATION_CHARS_MAX || !match.matches()) {
      return Optional.empty();
    }
    int tenths = Integer.parseInt(match.group(1)) * TENTHS + Integer.parseInt(match.group(2));
    return Optional.of(new GrantedGpus(tenths, Integer.parseInt(match.group(3))));
  }

  /** Returns whether that many GPUs are free, whether or not on one of them. */
  public boolean leaves(double needed) {
    return (double) TENTHS * gpus - tenths >= needed * TENTHS;
  }

  /** Returns the beginning of the annotation. */
  @Override
  public String toString() {
    return String.format(
        Locale.ROOT, "%d.%d of %d GPUs granted", tenths / TENTHS, tenths % TENTHS, gpus);
  }
}
