package dev.tranche.webhook.guard;

import java.util.Locale;

/**
 * A finding in a pod, and what became of it.
 *
 * @param what a clause: who does what, with the value
 * @param everyday no warning comes of it; one on each such pod would teach users to read none
 */
public record FindingOutcome(Finding finding, String what, Outcome outcome, boolean everyday) {
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

  /** For the user, who sees it as a warning or as the end of the request. */
  String sentence() {
    String end =
        switch (outcome) {
          case AUDITED -> "it is recorded";
          case VOIDED -> "Tranche took that away";
          case DENIED -> finding.remedy();
        };
    return what + "; " + end + ".";
  }
}
