package dev.tranche.webhook.nodes;

import dev.tranche.api.AllowList;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The GPU models that a pod allows or denies, as an {@link AllowList}. They are compared with the
 * nodes' labels, with and without the suffix {@code -SHARED} that GPU Feature Discovery adds. Not
 * thread-safe.
 */
public final class ProductList {
  private static final Pattern SHARED = Pattern.compile("-shared$");

  private final AllowList list;

  /** Results by product, since thousands of nodes have only a few products. */
  private final Map<String, Boolean> admittedByProduct = new HashMap<>();

  /**
   * @param list comma-separated; none allows all
   */
  public ProductList(@Nullable String list) {
    this.list = AllowList.parse(list);
  }

  /**
   * Also admits a node without the label, which may have any model or several. The extender checks
   * its GPUs more closely.
   */
  public boolean admits(GpuNode node) {
    return node.product().map(p -> admittedByProduct.computeIfAbsent(p, this::admits)).orElse(true);
  }

  private boolean admits(String label) {
    String whole = AllowList.normalize(label);
    String name = SHARED.matcher(whole).replaceFirst("");
    boolean allowed = list.allowed().isEmpty() || names(list.allowed(), whole, name);
    return allowed && !names(list.denied(), whole, name);
  }

  private static boolean names(Set<String> products, String whole, String name) {
    return AllowList.names(products, whole) || AllowList.names(products, name);
  }
}
