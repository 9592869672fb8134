package dev.tranche.api;

import java.util.HashSet;
import java.util.List;
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

  /** What the full name of a model begins with. */
  private static final List<String> BRANDS =
      List.of("nvidia-", "tesla-", "quadro-", "geforce-", "grid-");

  private static final String MIG = "-mig-";

  /** What GPU Feature Discovery adds to the models of shared GPUs. */
  private static final String SHARED = "-shared";

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

  /**
   * Returns whether a model is admitted. An entry that begins with a brand is a full name. Any
   * other is the words of one, such as {@code H100 80GB} of {@code NVIDIA H100 80GB HBM3}.
   */
  public boolean admitsModel(String model) {
    return (allowed.isEmpty() && denied.isEmpty())
        || (!names(denied, model) && (allowed.isEmpty() || names(allowed, model)));
  }

  /** Returns whether some entry of a set names that model. */
  private static boolean names(Set<String> entries, String model) {
    String normalized = normalize(model);
    if (entries.contains(normalized)) {
      return true;
    }
    // A plain loop: it runs for each GPU.
    for (String entry : entries) {
      if (isPart(entry, normalized)) {
        return true;
      }
    }
    return false;
  }

  /** Whole words in a row. A MIG device is named as such, since it is not the whole GPU. */
  private static boolean isPart(String entry, String model) {
    int at = model.indexOf(entry);
    int end = at + entry.length();
    return at > 0
        && model.charAt(at - 1) == '-'
        && (end == model.length() || model.charAt(end) == '-')
        && BRANDS.stream().noneMatch(entry::startsWith)
        && (!model.contains(MIG) || ("-" + entry + "-").contains(MIG));
  }

  /** Returns a name in the form in which names are compared. */
  public static String normalize(String name) {
    String normalized = name.strip().replace(' ', '-').toLowerCase(Locale.ROOT);
    return normalized.endsWith(SHARED)
        ? normalized.substring(0, normalized.length() - SHARED.length())
        : normalized;
  }
}
