package dev.tranche.api;

import java.util.Collection;
import org.jspecify.annotations.Nullable;

/** Evaluates the operators of label selectors and node affinity as Kubernetes does. */
public final class LabelOperator {
  /** Stands for a value that is not a number. It is neither above nor below any bound. */
  public static final long NO_NUMBER = Long.MIN_VALUE;

  /** No label needs more digits, and a number of this length fits into a long. */
  private static final int DIGITS_MAX = 18;

  private LabelOperator() {}

  /**
   * Whether a label satisfies a requirement. Allocates no object, since thousands of nodes are
   * checked against hundreds of requirements.
   *
   * @param values the values for In and NotIn
   * @param bound the bound for Gt and Lt, see {@link #number}
   * @param value the label's value; null if there is no such label
   */
  public static boolean matches(
      String operator, Collection<String> values, long bound, @Nullable String value) {
    return switch (operator) {
      case "In" -> value != null && values.contains(value);
      case "NotIn" -> value == null || !values.contains(value);
      case "Exists" -> value != null;
      case "DoesNotExist" -> value == null;
      case "Gt" -> compare(value, bound) > 0;
      case "Lt" -> compare(value, bound) < 0;
      default -> false;
    };
  }

  /** Compares numbers. Returns 0, which satisfies neither Gt nor Lt, if either side is none. */
  private static int compare(@Nullable String value, long bound) {
    long number = value == null ? NO_NUMBER : number(value);
    return number == NO_NUMBER || bound == NO_NUMBER ? 0 : Long.compare(number, bound);
  }

  /** Reads the value of a label, or of a requirement; {@link #NO_NUMBER} if it is none. */
  public static long number(String text) {
    int sign = text.startsWith("-") ? 1 : 0;
    if (text.length() == sign || text.length() > sign + DIGITS_MAX) {
      return NO_NUMBER;
    }
    for (int i = sign; i < text.length(); i++) {
      if (text.charAt(i) < '0' || text.charAt(i) > '9') {
        return NO_NUMBER;
      }
    }
    return Long.parseLong(text);
  }
}
