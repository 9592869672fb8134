package dev.tranche.nodeplugin.health;

import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Which XIDs make a GPU unhealthy: all but those that applications cause, less what is disabled,
 * plus what is enabled.
 */
public record XidPolicy(boolean allIgnored, Set<Long> ignored, Set<Long> counted) {
  // https://docs.nvidia.com/deploy/xid-errors
  private static final Set<Long> CAUSED_BY_APPLICATIONS =
      Set.of(
          13L, // graphics engine exception
          31L, // GPU memory page fault
          43L, // GPU stopped processing
          45L, // preemptive cleanup after an earlier error
          68L, // video processor exception
          109L); // context switch timeout

  /**
   * Reads DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS.
   *
   * @param ignoredWords gets a sentence for each word that is neither a number nor known. NVIDIA's
   *     plugin ignores such words.
   */
  public static XidPolicy parse(String disabled, String enabled, Consumer<String> ignoredWords) {
    Set<Long> ignored = new HashSet<>(CAUSED_BY_APPLICATIONS);
    boolean allIgnored = isAll(disabled);
    if (!allIgnored) {
      ignored.addAll(numbers("DP_DISABLE_HEALTHCHECKS", disabled, ignoredWords));
    }
    if (isAll(enabled)) {
      return new XidPolicy(false, Set.of(), Set.of());
    }
    return new XidPolicy(
        allIgnored, ignored, numbers("DP_ENABLE_HEALTHCHECKS", enabled, ignoredWords));
  }

  private static boolean isAll(String text) {
    String lower = text.toLowerCase(Locale.ROOT);
    return lower.contains("all") || lower.contains("xids");
  }

  private static Set<Long> numbers(String variable, String text, Consumer<String> ignoredWords) {
    Set<Long> numbers = new HashSet<>();
    for (String part : text.split(",", -1)) {
      String word = part.strip();
      if (word.matches("\\d{1,9}")) {
        numbers.add(Long.parseLong(word));
      } else if (!word.isEmpty()) {
        ignoredWords.accept(
            "%s has \"%s\", which is ignored; it is all, xids or comma-separated XIDs"
                .formatted(variable, word));
      }
    }
    return numbers;
  }

  public boolean unhealthy(long xid) {
    return counted.contains(xid) || (!allIgnored && !ignored.contains(xid));
  }
}
