package dev.tranche.webhook.pod;

import dev.tranche.api.Printable;

/** A user's text as a sentence shows it: an annotation may hold 256 kB, and line breaks. */
public final class QuotedText {
  private QuotedText() {}

  public static String of(String text) {
    return Printable.value(text);
  }
}
