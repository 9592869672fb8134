package dev.tranche.nodeplugin.config;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Base64;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeId;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.Tag;
import org.yaml.snakeyaml.resolver.Resolver;

/**
 * The words and numbers of Go's YAML library. Unlike SnakeYAML it reads {@code y} as true, {@code
 * 0o10} as 8, {@code 1:30} as a text, and a date as a text. A number without a fraction is a whole
 * number, as in the JSON that NVIDIA's plugin makes of a config.
 */
final class GoScalars extends Resolver {
  private static final Set<String> TRUE =
      Set.of("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON");
  private static final Set<String> FALSE =
      Set.of("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF");
  private static final Set<String> NULL = Set.of("", "~", "null", "Null", "NULL");
  private static final Set<String> NOT_FINITE =
      Set.of(
          ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf",
          "-.Inf", "-.INF");
  // Go's prefixes of numbers; a number that begins with 0 is octal.
  private static final Pattern WHOLE =
      Pattern.compile("[-+]?(0|[1-9][0-9]*|0[oO]?[0-7]+|0[xX][0-9a-fA-F]+|0[bB][01]+)");
  private static final Pattern DECIMAL =
      Pattern.compile("[-+]?(\\.[0-9]+|[0-9]+(\\.[0-9]*)?)([eE][-+]?[0-9]+)?");
  private static final BigInteger UINT64_MAX =
      BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE);
  private static final BigInteger INT64_MIN = BigInteger.valueOf(Long.MIN_VALUE);

  @Override
  public Tag resolve(NodeId kind, String value, boolean implicit) {
    return kind == NodeId.scalar && implicit ? tag(value) : super.resolve(kind, value, false);
  }

  private static Tag tag(String text) {
    if (TRUE.contains(text) || FALSE.contains(text)) {
      return Tag.BOOL;
    }
    if (NULL.contains(text)) {
      return Tag.NULL;
    }
    if (text.equals("<<")) {
      return Tag.MERGE;
    }
    if (NOT_FINITE.contains(text)) {
      return Tag.FLOAT;
    }
    Number number = number(text);
    return switch (number) {
      case null -> Tag.STR;
      case Double ignored -> Tag.FLOAT;
      default -> Tag.INT;
    };
  }

  static boolean isMergeKey(Node key) {
    return key.getTag().equals(Tag.MERGE);
  }

  /** Null for YAML's null. */
  static @Nullable Object value(ScalarNode node) {
    String text = node.getValue();
    Tag tag = node.getTag();
    if (tag.equals(Tag.NULL) && NULL.contains(text)) {
      return null;
    }
    if (tag.equals(Tag.BOOL) && (TRUE.contains(text) || FALSE.contains(text))) {
      return TRUE.contains(text);
    }
    if (tag.equals(Tag.INT) || tag.equals(Tag.FLOAT)) {
      Number number = number(text);
      if (number != null) {
        return number;
      }
      if (tag.equals(Tag.FLOAT) && NOT_FINITE.contains(text)) {
        return text.toLowerCase(Locale.ROOT);
      }
    }
    if (Set.of(Tag.NULL, Tag.BOOL, Tag.INT, Tag.FLOAT).contains(tag)) {
      throw new YAMLException(
          "\"%s\" in line %d is no %s"
              .formatted(
                  text,
                  node.getStartMark().getLine() + 1,
                  tag.getValue().substring(Tag.PREFIX.length())));
    }
    // Of other tags Go takes the text.
    return tag.equals(Tag.BINARY) ? decoded(node) : text;
  }

  private static String decoded(ScalarNode node) {
    try {
      return new String(Base64.getMimeDecoder().decode(node.getValue()), UTF_8);
    } catch (IllegalArgumentException e) {
      throw new YAMLException(
          "the !!binary value in line %d is not base64"
              .formatted(node.getStartMark().getLine() + 1));
    }
  }

  /** An Integer, a Long or a BigInteger, or a Double for a fraction; null if it is no number. */
  private static @Nullable Number number(String text) {
    // Only a text that begins as a number may have underscores in it.
    boolean begins = !text.isEmpty() && "+-0123456789".indexOf(text.charAt(0)) >= 0;
    String plain = begins ? text.replace("_", "") : text;
    if (WHOLE.matcher(plain).matches()) {
      BigInteger whole = whole(plain);
      boolean fits = whole.compareTo(UINT64_MAX) <= 0 && whole.compareTo(INT64_MIN) >= 0;
      if (fits) {
        return smallest(whole);
      }
    }
    return DECIMAL.matcher(plain).matches() ? decimal(plain) : null;
  }

  private static BigInteger whole(String text) {
    boolean negative = text.startsWith("-");
    String digits = text.startsWith("-") || text.startsWith("+") ? text.substring(1) : text;
    String lower = digits.toLowerCase(Locale.ROOT);
    BigInteger number =
        switch (lower.length() > 1 && lower.charAt(0) == '0' ? lower.charAt(1) : ' ') {
          case ' ' -> new BigInteger(lower);
          case 'x' -> new BigInteger(lower.substring(2), 16);
          case 'b' -> new BigInteger(lower.substring(2), 2);
          case 'o' -> new BigInteger(lower.substring(2), 8);
          default -> new BigInteger(lower, 8);
        };
    return negative ? number.negate() : number;
  }

  private static Number smallest(BigInteger number) {
    if (number.bitLength() < Integer.SIZE) {
      return number.intValueExact();
    }
    return number.bitLength() < Long.SIZE ? (Number) number.longValueExact() : number;
  }

  private static @Nullable Number decimal(String text) {
    double number = Double.parseDouble(text);
    if (Double.isInfinite(number)) {
      return null;
    }
    // From 1e21 on, Go's JSON has an exponent, which is no whole number to it.
    boolean whole = number == Math.rint(number) && Math.abs(number) < 1e21;
    return whole ? smallest(new BigDecimal(number).toBigIntegerExact()) : (Number) number;
  }
}
