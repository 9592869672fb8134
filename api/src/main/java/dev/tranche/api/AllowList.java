package dev.tranche.api;

import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A list of names that a pod allows or, with a leading {@code !}, denies. Compared without case,
 * and with blanks as dashes, since GPU Feature Discovery writes {@code Tesla-T4} for NVML's {@code
 * Tesla T4}.
 *
 * @param allowed none: all that are not denied
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
        denied.add(plain(name.substring(1)));
      } else if (!name.isEmpty()) {
        allowed.add(plain(name));
      }
    }
    return new AllowList(allowed, denied);
  }

  public boolean admits(String name) {
    if (allowed.isEmpty() && denied.isEmpty()) {
      return true;
    }
    String plain = plain(name);
    return !denied.contains(plain) && (allowed.isEmpty() || allowed.contains(plain));
  }

  /** As names are compared. */
  public static String plain(String name) {
    return name.strip().replace(' ', '-').toLowerCase(Locale.ROOT);
  }
}
