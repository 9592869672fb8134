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

  /** Returns ready, with the reason why there is nothing to do. */
  public static Readiness readyButIdle(String reason) {
    return new Readiness(true, List.of(reason));
  }

  /** Ready unless something is missing. */
  public static Readiness readyUnless(List<String> missing) {
    return new Readiness(missing.isEmpty(), missing);
  }
}
