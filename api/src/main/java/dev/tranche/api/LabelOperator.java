package dev.tranche.api;

import java.util.Collection;
import org.jspecify.annotations.Nullable;

/** What the operators of label selectors and node affinity say of a label, as Kubernetes does. */
public final class LabelOperator {
  /** Neither above nor below any bound. */
  public static final long NO_NUMBER = Long.MIN_VALUE;

  /** No label counts to more, and these fit into a long. */
  private static final int DIGITS_MAX = 18;

  private LabelOperator() {}

  /**
   * Makes no object: thousands of nodes are held against hundreds of requirements.
   *
   * @param values of In and NotIn
   * @param bound of Gt and Lt, see {@link #number}
   * @param value of the label; null: there is no such label
   */
  public static boolean holds(
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

  /** 0, which satisfies neither Gt nor Lt, where either side is no number. */
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
