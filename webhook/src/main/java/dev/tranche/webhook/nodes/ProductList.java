package dev.tranche.webhook.nodes;

import dev.tranche.api.AllowList;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The GPU models that a pod allows or denies, an {@link AllowList}, compared with the nodes'
 * labels, with and without the {@code -SHARED} that GPU Feature Discovery adds. For one thread.
 */
public final class ProductList {
  private static final Pattern SHARED = Pattern.compile("-shared$");

  private final AllowList list;

  /** Thousands of nodes have a few products. */
  private final Map<String, Boolean> judged = new HashMap<>();

  /**
   * @param list comma-separated; none allows all
   */
  public ProductList(@Nullable String list) {
    this.list = AllowList.parse(list);
  }

  /** A node without the label may have any model, even several: the extender looks closer. */
  public boolean admits(GpuNode node) {
    return node.product().map(p -> judged.computeIfAbsent(p, this::admits)).orElse(true);
  }

  private boolean admits(String label) {
    String whole = AllowList.plain(label);
    String name = SHARED.matcher(whole).replaceFirst("");
    boolean allowed = list.allowed().isEmpty() || names(list.allowed(), whole, name);
    return allowed && !names(list.denied(), whole, name);
  }

  private static boolean names(Set<String> products, String whole, String name) {
    return products.contains(whole) || products.contains(name);
  }
}
