package dev.tranche.extender.dra;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Knows on which nodes a DRA driver serves our resources. A DeviceClass with {@code
 * extendedResourceName} maps the resource to devices, and ResourceSlices say which driver has
 * devices on which node. A class selects devices by CEL expressions. They are not evaluated: a
 * driver belongs to a class that names it, or to a class without expressions.
 *
 * @see <a href="https://github.com/kubernetes/enhancements/issues/5004">KEP-5004</a>
 */
public final class DraNodes {
  /** Some nodes have several slices. */
  public static final int SLICES_MAX = 65_536;

  /** A cluster has a few classes. Those of other resources do not count. */
  public static final int CLASSES_MAX = 256;

  private final Set<String> resources;

  /** The CEL expressions of each class that maps one of our resources. */
  private final Map<String, List<String>> classes = new HashMap<>();

  private final Map<String, Slice> slices = new HashMap<>();

  /** How many slices of each driver a node has. */
  private final Map<String, Map<String, Integer>> drivers = new HashMap<>();

  private boolean classesListed;
  private boolean slicesListed;

  private record Slice(String node, String driver) {}

  public DraNodes(List<String> resources) {
    this.resources = Set.copyOf(resources);
  }

  /**
   * @param extendedResource empty if the class maps none
   * @param expressions in CEL, all of which a device must satisfy
   */
  public void classSeen(String name, String extendedResource, List<String> expressions) {
    if (!resources.contains(extendedResource)) {
      classes.remove(name);
    } else if (classes.size() < CLASSES_MAX || classes.containsKey(name)) {
      classes.put(name, List.copyOf(expressions));
    }
  }

  public void classGone(String name) {
    classes.remove(name);
  }

  /** Returns whether a class maps one of our resources. Otherwise no slice matters. */
  public boolean isMapped() {
    return !classes.isEmpty();
  }

  /**
   * @param node empty for devices that are not of one node
   */
  public void sliceSeen(String name, String node, String driver) {
    sliceGone(name);
    if (slices.size() < SLICES_MAX && !node.isEmpty()) {
      slices.put(name, new Slice(node, driver));
      drivers.computeIfAbsent(node, first -> new HashMap<>(2)).merge(driver, 1, Integer::sum);
    }
  }

  public void sliceGone(String name) {
    Slice slice = slices.remove(name);
    if (slice != null) {
      drivers.computeIfPresent(
          slice.node(),
          (node, counts) -> {
            counts.computeIfPresent(slice.driver(), (driver, n) -> n == 1 ? null : n - 1);
            return counts.isEmpty() ? null : counts;
          });
    }
  }

  public void classesListed() {
    classesListed = true;
  }

  public void slicesListed() {
    slicesListed = true;
  }

  /** Returns whether the answers are complete. Slices matter only if a class maps our resource. */
  public boolean isKnown() {
    return classesListed && (classes.isEmpty() || slicesListed);
  }

  public int slices() {
    return slices.size();
  }

  public int classes() {
    return classes.size();
  }

  /**
   * Returns whether a driver with devices on the node belongs to a class of ours. The kubelet's
   * allocatable decides first: kube-scheduler uses DRA only on a node without the resource there.
   */
  public boolean serves(String node) {
    for (String driver : drivers.getOrDefault(node, Map.of()).keySet()) {
      for (List<String> expressions : Set.copyOf(classes.values())) {
        if (expressions.isEmpty() || expressions.stream().anyMatch(e -> names(e, driver))) {
          return true;
        }
      }
    }
    return false;
  }

  /** Returns the nodes with slices. */
  public Set<String> nodes() {
    return new HashSet<>(drivers.keySet());
  }

  /** Whether a CEL expression contains the driver's name as a text. */
  private static boolean names(String expression, String driver) {
    return expression.contains('"' + driver + '"') || expression.contains("'" + driver + "'");
  }
}
