package dev.tranche.extender.ledger;

import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Names constants as the API and people see them: {@code TooFewGpus}. */
public final class CamelCase {
  private CamelCase() {}

  public static String of(Enum<?> constant) {
    return Stream.of(constant.name().split("_"))
        .map(word -> word.charAt(0) + word.substring(1).toLowerCase(Locale.ROOT))
        .collect(Collectors.joining());
  }
}
