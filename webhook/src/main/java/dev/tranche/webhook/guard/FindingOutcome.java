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
    VOIDED,
    DENIED;

    @Override
    public String toString() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** Returns a sentence for the user, who sees it as a warning or in the denial. */
  String sentence() {
    String end =
        switch (outcome) {
          case AUDITED -> "it is recorded";
          case VOIDED -> finding == Finding.RUNTIME_CLASS ? finding.remedy() : "Tranche removed it";
          case DENIED -> finding.remedy();
        };
    return description + "; " + end + ".";
  }
}
