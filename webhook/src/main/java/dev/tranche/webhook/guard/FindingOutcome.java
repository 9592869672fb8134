package dev.tranche.webhook.guard;

import java.util.List;
import java.util.Locale;

/**
 * A finding in a pod, and what the guard did about it.
 *
 * @param description a clause: who does what, with the value
 * @param common whether most pods do this; no warning is given then, or users would learn to ignore
 *     warnings
 */
public record FindingOutcome(
    GuardFinding finding, String description, Outcome outcome, boolean common) {
  /** What became of a finding. */
  public enum Outcome {
    AUDITED,
    VOIDED;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** API servers cut long warnings, and nobody reads them. */
  static final int WARNINGS_MAX = 6;

  /** Returns a sentence for the user about each finding that few pods have. */
  static List<String> warnings(List<FindingOutcome> found) {
    return found.stream()
        .filter(one -> !one.common)
        .limit(WARNINGS_MAX)
        .map(FindingOutcome::sentence)
        .toList();
  }

  private String sentence() {
    if (finding == GuardFinding.RUNTIME_CLASS) {
      return description + "; request a share otherwise.";
    }
    return description
        + (outcome == Outcome.VOIDED ? "; Tranche removed it." : "; it is recorded.");
  }
}
