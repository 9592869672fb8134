package dev.tranche.api;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Kubernetes quantities, such as {@code 500m}, {@code 4Gi} and {@code 1e3}. */
public final class Quantity {
  /** Short enough that no number takes long to work with. */
  private static final Pattern FORM =
      Pattern.compile(
          "([+-]?[0-9]{1,30}(?:\\.[0-9]{0,30})?)(?:[eE]([+-]?[0-9]{1,2})|([A-Za-z]{0,2}))");

  private static final int MEMORY_CHARS_MAX = 32;
  private static final BigDecimal LONG_MAX = BigDecimal.valueOf(Long.MAX_VALUE);
  private static final Map<String, BigDecimal> BINARY =
      Map.of(
          "Ki", BigDecimal.valueOf(1L << 10),
          "Mi", BigDecimal.valueOf(1L << 20),
          "Gi", BigDecimal.valueOf(1L << 30),
          "Ti", BigDecimal.valueOf(1L << 40),
          "Pi", BigDecimal.valueOf(1L << 50),
          "Ei", BigDecimal.valueOf(1L << 60));
  private static final Map<String, Integer> DECIMAL =
      Map.of("n", -9, "u", -6, "m", -3, "", 0, "k", 3, "M", 6, "G", 9, "T", 12, "P", 15, "E", 18);

  private static final Pattern POSITIVE = Pattern.compile("[1-9]\\d{0,8}");

  private Quantity() {}

  /** Parses a whole number above 0, of up to nine digits; 0 if the text is none. */
  public static int positive(String text) {
    return POSITIVE.matcher(text).matches() ? Integer.parseInt(text) : 0;
  }

  /** Parses a quantity; empty if the text is not one. */
  public static Optional<BigDecimal> number(String text) {
    Matcher form = FORM.matcher(text.strip());
    if (!form.matches()) {
      return Optional.empty();
    }
    var number = new BigDecimal(form.group(1));
    String suffix = form.group(3);
    if (suffix == null) {
      return Optional.of(number.scaleByPowerOfTen(Integer.parseInt(form.group(2))));
    }
    BigDecimal binary = BINARY.get(suffix);
    return binary == null
        ? Optional.ofNullable(DECIMAL.get(suffix)).map(number::scaleByPowerOfTen)
        : Optional.of(number.multiply(binary));
  }

  /** Parses an amount of GPU memory as users write it; 0 if the text is none, or too long. */
  public static long memoryBytes(String value) {
    String text = value.length() > RequestBounds.VALUE_CHARS_MAX ? "" : value.strip();
    return text.length() > MEMORY_CHARS_MAX ? 0 : parse(text).orElse(0);
  }

  /** Parses a quantity and rounds it up; empty if the text is not a quantity from 0 to 2^63-1. */
  public static OptionalLong parse(String text) {
    return number(text)
        .filter(number -> number.signum() >= 0)
        .map(number -> number.setScale(0, RoundingMode.CEILING))
        .filter(whole -> whole.compareTo(LONG_MAX) <= 0)
        .map(whole -> OptionalLong.of(whole.longValueExact()))
        .orElse(OptionalLong.empty());
  }
}
