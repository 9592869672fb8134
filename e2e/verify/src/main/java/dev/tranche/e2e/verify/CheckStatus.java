package dev.tranche.e2e.verify;

import java.util.Locale;

/** How a check ended. */
public enum CheckStatus {
  OK,
  /** Two sources say different things. */
  DIFFERS,
  /** This machine lacks what the check needs; that is no defect. */
  NOT_AVAILABLE,
  FAILED;

  String text() {
    return name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }
}
