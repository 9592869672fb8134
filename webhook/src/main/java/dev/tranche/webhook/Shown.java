package dev.tranche.webhook;

import java.util.regex.Pattern;

/** A user's text as a sentence shows it: an annotation may hold 256 kB, and line breaks. */
final class Shown {
  private static final int CHARS_MAX = 48;
  private static final Pattern CONTROL = Pattern.compile("[\\p{Cntrl}\\p{Cf}\\u2028\\u2029]");

  private Shown() {}

  static String of(String text) {
    String shown = text.length() <= CHARS_MAX ? text : text.substring(0, CHARS_MAX) + "…";
    return CONTROL.matcher(shown).replaceAll("�");
  }
}
