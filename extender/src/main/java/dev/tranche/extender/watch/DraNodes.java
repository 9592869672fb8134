package dev.tranche.extender.watch;

import dev.tranche.extender.watch.Reflector.Watches;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Knows on which nodes a DRA driver serves our resources. A DeviceClass with {@code
 * extendedResourceName} maps the resource to devices, and ResourceSlices say which driver has
 * devices on which node. A class selects devices by CEL expressions. They are not evaluated: a
 * driver belongs to a class that names it, or to a class without expressions.
 *
 * @see <a href="https://github.com/kubernetes/enhancements/issues/5004">KEP-5004</a>
 */
public final class DraNodes implements AutoCloseable {
  /** Extended resources are mapped from this version on only. */
  private static final String API = "/apis/resource.k8s.io/v1/";

  private final Watches watches;
  private final Set<String> resources;
  private final long lookAgainMs;
  private final Listed<ClassSpec> classes;

  /** Created once a class maps one of our resources. Otherwise no slice matters. */
  private volatile @Nullable Listed<SliceSpec> slices;

  record DeviceClass(Metadata metadata, ClassSpec spec) {}

  /**
   * @param extendedResourceName empty if it maps none
   * @param selectors all of which a device must satisfy
   */
  record ClassSpec(String extendedResourceName, List<Selector> selectors) {
    boolean selects(String driver) {
      return selectors.isEmpty() || selectors.stream().anyMatch(each -> each.names(driver));
    }
  }

  record Selector(@Nullable Cel cel) {
    /** Whether the expression contains the driver's name as a text. */
    boolean names(String driver) {
      String text = cel == null ? "" : cel.expression();
      return text.contains('"' + driver + '"') || text.contains("'" + driver + "'");
    }
  }

  record Cel(String expression) {}

  record ResourceSlice(Metadata metadata, SliceSpec spec) {}

  /**
   * @param nodeName empty for devices that are not of one node
   */
  record SliceSpec(String nodeName, String driver) {}

  /** All objects of one kind, while they are watched. */
  private final class Listed<T> {
    final Map<String, T> byKey = new ConcurrentHashMap<>();
    final Reflector<Watched<T>> reflector;
    volatile boolean listed;

    Listed(ResourceKind<?, Watched<T>> kind) {
      var sink =
          new Reflector.Sink<Watched<T>>(
              seen -> byKey.put(seen.key(), seen.read()),
              (uid, key) -> byKey.remove(key),
              () -> listed = true);
      reflector = new Reflector<>(watches, kind, sink);
    }
  }

  /**
   * @param lookAgainMs how often to look whether the API server has these kinds
   */
  public DraNodes(Watches watches, List<String> resources, long lookAgainMs) {
    this.watches = watches;
    this.resources = Set.copyOf(resources);
    this.lookAgainMs = lookAgainMs;
    this.classes =
        new Listed<>(
            new ResourceKind<>(
                API + "deviceclasses",
                DeviceClass.class,
                each -> Watched.of(each.metadata(), each.spec()),
                lookAgainMs));
  }

  /** Returns at once. Without the API nothing else happens. */
  public void start() {
    classes.reflector.start();
  }

  /**
   * Returns the nodes with devices of a class of ours; empty while that is not known. The kubelet's
   * allocatable decides first: kube-scheduler uses DRA only on a node without the resource there.
   */
  public Optional<Set<String>> served() {
    if (!classes.listed) {
      return Optional.empty();
    }
    List<ClassSpec> ours =
        classes.byKey.values().stream()
            .filter(spec -> resources.contains(spec.extendedResourceName()))
            .toList();
    if (ours.isEmpty()) {
      return Optional.of(Set.of());
    }
    Listed<SliceSpec> known = slices == null ? watchSlices() : slices;
    return known.listed
        ? Optional.of(
            known.byKey.values().stream()
                .filter(slice -> ours.stream().anyMatch(each -> each.selects(slice.driver())))
                .map(SliceSpec::nodeName)
                .filter(node -> !node.isEmpty())
                .collect(Collectors.toSet()))
        : Optional.empty();
  }

  private Listed<SliceSpec> watchSlices() {
    var watched =
        new Listed<SliceSpec>(
            new ResourceKind<>(
                API + "resourceslices",
                ResourceSlice.class,
                each -> Watched.of(each.metadata(), each.spec()),
                lookAgainMs));
    watched.reflector.start();
    slices = watched;
    return watched;
  }

  @Override
  public void close() {
    classes.reflector.close();
    Listed<SliceSpec> open = slices;
    if (open != null) {
      open.reflector.close();
    }
  }
}
