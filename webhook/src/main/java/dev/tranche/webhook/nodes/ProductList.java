package dev.tranche.webhook.nodes;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The GPU models that a pod allows or, with a leading {@code !}, denies, compared with the nodes'
 * labels. The comparison ignores case, reads blanks as dashes, and drops the {@code -SHARED} that
 * GPU Feature Discovery adds. For one thread.
 */
public final class ProductList {
  private static final Pattern SHARED = Pattern.compile("-shared$");

  private final Set<String> allowed = new HashSet<>();
  private final Set<String> denied = new HashSet<>();

  /** Thousands of nodes have a few products. */
  private final Map<String, Boolean> judged = new HashMap<>();

  /**
   * @param list comma-separated; none allows all
   */
  public ProductList(@Nullable String list) {
    for (String entry : list == null ? new String[0] : list.split(",", -1)) {
      String name = entry.strip();
      if (name.startsWith("!")) {
        denied.add(plain(name.substring(1)));
      } else if (!name.isEmpty()) {
        allowed.add(plain(name));
      }
    }
  }

  /** A node without the label may have any model, even several: the extender looks closer. */
  public boolean admits(GpuNode node) {
    return node.product().map(p -> judged.computeIfAbsent(p, this::admits)).orElse(true);
  }

  private boolean admits(String label) {
    String whole = plain(label);
    String name = SHARED.matcher(whole).replaceFirst("");
    boolean named = allowed.contains(name) || allowed.contains(whole);
    return !denied.contains(name) && !denied.contains(whole) && (allowed.isEmpty() || named);
  }

  private static String plain(String name) {
    return name.strip().replace(' ', '-').toLowerCase(Locale.ROOT);
  }
}
