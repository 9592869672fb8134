package dev.tranche.process.ops;

import java.util.Optional;

/**
 * The answer to a probe of the kubelet.
 *
 * @param text for people, one or more lines
 */
public record Probe(boolean passed, String text) {
  public static final Probe ALIVE = new Probe(true, "ok");

  /** Passed unless something is missing. */
  public static Probe readyUnless(Optional<String> missing) {
    return new Probe(missing.isEmpty(), missing.orElse("ready"));
  }
}
