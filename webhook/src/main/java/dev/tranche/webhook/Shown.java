package dev.tranche.webhook;

import dev.tranche.api.Printable;

/** A user's text as a sentence shows it: an annotation may hold 256 kB, and line breaks. */
final class Shown {
  private Shown() {}

  static String of(String text) {
    return Printable.value(text);
  }
}
