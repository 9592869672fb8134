package dev.tranche.api;

import java.util.Collection;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Makes text from outside fit for logs, Events, errors and pages. Truncates the text, and escapes
 * characters that end a line, move the cursor or change the direction of writing. A name may
 * contain them, since webhooks see objects before they are validated, and nodes report what they
 * like.
 */
public final class Printable {
  /** Enough to recognize a value. */
  public static final int VALUE_CHARS_MAX = 48;

  /** As long as Kubernetes lets a name be. */
  public static final int NAME_CHARS_MAX = 253;

  /** As long as Kubernetes lets the message of an Event be. */
  public static final int MESSAGE_CHARS_MAX = 1_024;

  private Printable() {}

  /** A value within a sentence. */
  public static String value(String text) {
    return of(text, VALUE_CHARS_MAX);
  }

  /** The name of an object within a sentence. */
  public static String name(String text) {
    return of(text, NAME_CHARS_MAX);
  }

  /** A sentence that has text of others in it. */
  public static String message(String text) {
    return of(text, MESSAGE_CHARS_MAX);
  }

  /** Formats a sentence. Its texts are made printable, in case the caller has not done so. */
  public static String sentence(String template, Object... values) {
    return template.formatted(
        Stream.of(values).map(v -> v instanceof String text ? message(text) : v).toArray());
  }

  /** The first of these texts, and how many more there are. Only those shown are escaped. */
  public static String list(
      Collection<String> texts, int shownMax, UnaryOperator<String> printable) {
    String shown = texts.stream().limit(shownMax).map(printable).collect(Collectors.joining(", "));
    int more = texts.size() - shownMax;
    return more > 0 ? shown + " and %d more".formatted(more) : shown;
  }

  /**
   * Reads no more of the text than is shown.
   *
   * @param charsMax maximum length of the result, without the "…" of a truncated text
   */
  public static String of(String text, int charsMax) {
    if (text.length() <= charsMax && text.codePoints().allMatch(Printable::isPrintable)) {
      return text;
    }
    var shown = new StringBuilder();
    for (int at = 0; at < text.length(); at = text.offsetByCodePoints(at, 1)) {
      int next = text.codePointAt(at);
      String written = isPrintable(next) ? Character.toString(next) : escaped(next);
      if (shown.length() + written.length() > charsMax) {
        return shown.append('…').toString();
      }
      shown.append(written);
    }
    return shown.toString();
  }

  private static boolean isPrintable(int codePoint) {
    return switch (Character.getType(codePoint)) {
      case Character.CONTROL,
          Character.FORMAT,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR,
          Character.SURROGATE,
          Character.PRIVATE_USE,
          Character.UNASSIGNED ->
          false;
      default -> true;
    };
  }

  private static String escaped(int codePoint) {
    return switch (codePoint) {
      case '\n' -> "\\n";
      case '\r' -> "\\r";
      case '\t' -> "\\t";
      default -> String.format(codePoint > 0xffff ? "\\u{%x}" : "\\u%04x", codePoint);
    };
  }
}
