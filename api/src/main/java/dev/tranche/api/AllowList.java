package dev.tranche.api;

import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A list of names that a pod allows or, with a leading {@code !}, denies. Names are compared
 * without case and with spaces as dashes, since GPU Feature Discovery writes {@code Tesla-T4} for
 * NVML's {@code Tesla T4}.
 *
 * @param allowed if empty, all names that are not denied
 */
public record AllowList(Set<String> allowed, Set<String> denied) {
  public static final AllowList ANY = new AllowList(Set.of(), Set.of());

  /** Reads an annotation's value. */
  public static AllowList parse(@Nullable String list) {
    if (list == null) {
      return ANY;
    }
    var allowed = new HashSet<String>();
    var denied = new HashSet<String>();
    for (String entry : list.split(",", -1)) {
      String name = entry.strip();
      if (name.startsWith("!")) {
        denied.add(normalize(name.substring(1)));
      } else if (!name.isEmpty()) {
        allowed.add(normalize(name));
      }
    }
    return new AllowList(allowed, denied);
  }

  public boolean admits(String name) {
    if (allowed.isEmpty() && denied.isEmpty()) {
      return true;
    }
    String normalized = normalize(name);
    return !denied.contains(normalized) && (allowed.isEmpty() || allowed.contains(normalized));
  }

  /** Returns a name in the form in which names are compared. */
  public static String normalize(String name) {
    return name.strip().replace(' ', '-').toLowerCase(Locale.ROOT);
  }
}
