package dev.tranche.nodeplugin.health;

import java.util.List;

/**
 * The answer of /readyz or /healthz.
 *
 * @param sentences what is missing, or why there is nothing to do; empty: all is well
 */
public record Readiness(boolean ready, List<String> sentences) {
  public Readiness {
    sentences = List.copyOf(sentences);
  }

  /** Nothing is to be done here, which holds nobody up. */
  public static Readiness idle(String reason) {
    return new Readiness(true, List.of(reason));
  }

  /** Ready unless something is missing. */
  public static Readiness unless(List<String> missing) {
    return new Readiness(missing.isEmpty(), missing);
  }
}
