package dev.tranche.api;

import java.math.BigInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads a share of GPUs: more than 0 and at most 1, or a whole number of GPUs. No floating point
 * takes part, so 0.1 + 0.2 and 0.3 of ten replicas are three.
 */
public final class Fraction {
  private static final int WHOLE_MAX = RequestBounds.GPUS_MAX;

  private static final int TEXT_CHARS_MAX = 32;

  /**
   * Digits after the twelfth decimal are dropped. They come from floating point, as in
   * 0.30000000000000004, and would be rounded up to a whole replica.
   */
  private static final Pattern DECIMAL = Pattern.compile("(\\d{0,6})(?:\\.(\\d{1,12})\\d*)?(%?)");

  /** More digits than DECIMAL takes: more GPUs than any node has, also as a percentage. */
  private static final Pattern HUGE = Pattern.compile("[1-9]\\d{6,}(?:\\.\\d*)?%?");

  private static final Pattern RATIO = Pattern.compile("(\\d{1,9})\\s*/\\s*(\\d{1,9})");
  private static final String MORE_THAN_ANY_NODE = "is more GPUs than any node has";
  private static final String ALLOWED =
      "allowed are a share of one GPU above 0 and up to 1 (\"0.3\", \"1/3\", \"30%\") or a whole"
          + " number of GPUs up to "
          + WHOLE_MAX
          + " (\"2\")";

  private Fraction() {}

  /** The result of parsing a text. */
  public sealed interface Parsed {
    record Valid(GpuPart share) implements Parsed {}

    /**
     * @param reason a sentence that names the text, what is wrong and what is allowed
     */
    record Malformed(String reason) implements Parsed {}
  }

  /** Reads a decimal, a ratio or a percentage. */
  public static Parsed parse(String text) {
    String shown = text.length() <= TEXT_CHARS_MAX ? text : text.substring(0, TEXT_CHARS_MAX) + "…";
    // Spaces count too: the extender reads no longer value.
    String trimmed = text.length() > RequestBounds.VALUE_CHARS_MAX ? "" : text.strip();
    if (trimmed.length() > TEXT_CHARS_MAX || trimmed.isEmpty()) {
      return malformed(shown, "is not a number");
    }
    Matcher ratio = RATIO.matcher(trimmed);
    if (ratio.matches()) {
      return of(shown, Long.parseLong(ratio.group(1)), Long.parseLong(ratio.group(2)));
    }
    Matcher decimal = DECIMAL.matcher(trimmed);
    String fraction = decimal.matches() ? decimal.group(2) : null;
    if (!decimal.matches() || (decimal.group(1).isEmpty() && fraction == null)) {
      return malformed(shown, wrongWith(trimmed));
    }
    String decimals = fraction == null ? "" : fraction;
    long scale = BigInteger.TEN.pow(decimals.length()).longValue();
    long digits = Long.parseLong("0" + decimal.group(1) + decimals);
    return of(shown, digits, decimal.group(3).isEmpty() ? scale : scale * 100);
  }

  private static String wrongWith(String trimmed) {
    if (HUGE.matcher(trimmed).matches()) {
      return MORE_THAN_ANY_NODE;
    }
    return trimmed.startsWith("-") ? "is not above 0" : "is not a number";
  }

  private static Parsed of(String shown, long numerator, long denominator) {
    if (denominator == 0) {
      return malformed(shown, "divides by 0");
    }
    if (numerator == 0) {
      return malformed(shown, "is not above 0");
    }
    boolean whole = numerator % denominator == 0;
    if (numerator > denominator && !whole) {
      return malformed(shown, "is above 1 and not a whole number");
    }
    if (whole && numerator / denominator > WHOLE_MAX) {
      return malformed(shown, MORE_THAN_ANY_NODE);
    }
    return new Parsed.Valid(GpuPart.of(numerator, denominator));
  }

  private static Parsed malformed(String shown, String wrong) {
    return new Parsed.Malformed("\"" + shown + "\" " + wrong + "; " + ALLOWED);
  }
}
