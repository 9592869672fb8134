package dev.tranche.webhook;

/** A user's text as a sentence shows it: an annotation may hold 256 kB. */
final class Shown {
  private static final int CHARS_MAX = 48;

  private Shown() {}

  static String of(String text) {
    return text.length() <= CHARS_MAX ? text : text.substring(0, CHARS_MAX) + "…";
  }
}
