package dev.tranche.webhook.request;

import java.util.Collection;
import java.util.Comparator;
import java.util.Locale;
import java.util.Optional;

/** Finds the name that a misspelt one was meant to be. */
final class Spelling {
  /** Characters that may be missing, wrong or too many. */
  private static final int EDITS_MAX = 3;

  /** Names of annotations are no longer; the effort grows with the square. */
  private static final int CHARS_MAX = 63;

  private Spelling() {}

  /** Returns the nearest of the known names, if one is near. Case and underscores do not count. */
  static Optional<String> nearest(String name, Collection<String> known) {
    if (name.length() > CHARS_MAX) {
      return Optional.empty();
    }
    String plain = plain(name);
    return known.stream()
        .filter(each -> edits(plain, plain(each)) <= EDITS_MAX)
        .min(
            Comparator.<String>comparingInt(each -> edits(plain, plain(each)))
                .thenComparing(Comparator.naturalOrder()));
  }

  private static String plain(String name) {
    return name.toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** Returns the Levenshtein distance. */
  private static int edits(String one, String other) {
    int[] before = new int[other.length() + 1];
    for (int j = 0; j <= other.length(); j++) {
      before[j] = j;
    }
    for (int i = 1; i <= one.length(); i++) {
      int[] now = new int[other.length() + 1];
      now[0] = i;
      for (int j = 1; j <= other.length(); j++) {
        int replaced = before[j - 1] + (one.charAt(i - 1) == other.charAt(j - 1) ? 0 : 1);
        now[j] = Math.min(replaced, 1 + Math.min(before[j], now[j - 1]));
      }
      before = now;
    }
    return before[other.length()];
  }
}
