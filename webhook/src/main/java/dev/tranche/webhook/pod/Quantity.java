package dev.tranche.webhook.pod;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Map;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Kubernetes quantities, as far as counts and bytes need them. */
public final class Quantity {
  private static final Pattern FORM =
      Pattern.compile("\\+?(\\d{1,19}(?:\\.\\d{0,9})?)([eE][+-]?\\d{1,2}|[A-Za-z]{0,2})");
  private static final BigDecimal LONG_MAX = BigDecimal.valueOf(Long.MAX_VALUE);
  private static final Map<String, BigDecimal> SUFFIXES =
      Map.ofEntries(
          Map.entry("", BigDecimal.ONE),
          Map.entry("m", new BigDecimal("0.001")),
          Map.entry("k", new BigDecimal("1e3")),
          Map.entry("M", new BigDecimal("1e6")),
          Map.entry("G", new BigDecimal("1e9")),
          Map.entry("T", new BigDecimal("1e12")),
          Map.entry("P", new BigDecimal("1e15")),
          Map.entry("E", new BigDecimal("1e18")),
          Map.entry("Ki", BigDecimal.valueOf(1L << 10)),
          Map.entry("Mi", BigDecimal.valueOf(1L << 20)),
          Map.entry("Gi", BigDecimal.valueOf(1L << 30)),
          Map.entry("Ti", BigDecimal.valueOf(1L << 40)),
          Map.entry("Pi", BigDecimal.valueOf(1L << 50)),
          Map.entry("Ei", BigDecimal.valueOf(1L << 60)));

  private Quantity() {}

  /** The value rounded up, or nothing where the text is no quantity from 0 to 2^63-1. */
  public static OptionalLong parse(String text) {
    Matcher form = FORM.matcher(text.strip());
    if (!form.matches()) {
      return OptionalLong.empty();
    }
    String suffix = form.group(2);
    BigDecimal scale = SUFFIXES.get(suffix);
    if (scale == null && suffix.length() < 2) {
      return OptionalLong.empty();
    }
    BigDecimal number = new BigDecimal(form.group(1));
    BigDecimal value;
    if (scale != null) {
      value = number.multiply(scale);
    } else if (suffix.matches("[eE][+-]?\\d+")) {
      value = number.scaleByPowerOfTen(Integer.parseInt(suffix.substring(1)));
    } else {
      return OptionalLong.empty();
    }
    BigDecimal whole = value.setScale(0, RoundingMode.CEILING);
    return whole.compareTo(LONG_MAX) > 0
        ? OptionalLong.empty()
        : OptionalLong.of(whole.longValueExact());
  }
}
