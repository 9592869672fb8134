package dev.tranche.webhook.guard;

import java.util.Locale;

/**
 * A finding in a pod, and what the guard did about it.
 *
 * @param description a clause: who does what, with the value
 * @param common whether most pods do this; no warning is given then, or users would learn to ignore
 *     warnings
 */
public record FindingOutcome(Finding finding, String description, Outcome outcome, boolean common) {
  /** What became of a finding. */
  public enum Outcome {
    AUDITED,
    VOIDED;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** Returns a sentence for the user, who sees it as a warning. */
  String sentence() {
    if (finding == Finding.RUNTIME_CLASS) {
      return description + "; request a share otherwise.";
    }
    return description
        + (outcome == Outcome.VOIDED ? "; Tranche removed it." : "; it is recorded.");
  }
}
