package dev.tranche.extender.controller;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.client.CustomResource;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import io.fabric8.kubernetes.model.annotation.Group;
import io.fabric8.kubernetes.model.annotation.Plural;
import io.fabric8.kubernetes.model.annotation.Version;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Knows on which nodes a DRA driver serves our resources. A DeviceClass with {@code
 * extendedResourceName} maps the resource to devices, and ResourceSlices say which driver has
 * devices on which node. A class selects devices by CEL expressions. They are not evaluated: a
 * driver belongs to a class that names it, or to a class without expressions.
 *
 * @see <a href="https://github.com/kubernetes/enhancements/issues/5004">KEP-5004</a>
 */
public final class DraNodes implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(DraNodes.class);

  /** Extended resources are mapped from this version on only. */
  private static final String API = "resource.k8s.io/v1";

  private final KubernetesClient client;
  private final Set<String> resources;
  private final long checkAgainMs;
  private final SharedIndexInformer<DeviceClass> classes;

  /** Started once a class maps one of our resources. Otherwise no slice matters. */
  private final SharedIndexInformer<ResourceSlice> slices;

  private final Thread discovery = Thread.ofVirtual().name("discover DRA").unstarted(this::run);

  /**
   * @param extendedResourceName null if it maps none
   * @param selectors all of which a device must satisfy
   */
  @JsonIgnoreProperties(ignoreUnknown = true)
  record ClassSpec(@Nullable String extendedResourceName, @Nullable List<Selector> selectors) {
    boolean selects(String driver) {
      return selectors == null
          || selectors.isEmpty()
          || selectors.stream().anyMatch(selector -> selector.names(driver));
    }
  }

  @JsonIgnoreProperties(ignoreUnknown = true)
  record Selector(@Nullable Cel cel) {
    /** Whether the expression contains the driver's name as a text. */
    boolean names(String driver) {
      String text = cel == null ? "" : Objects.requireNonNullElse(cel.expression(), "");
      return text.contains('"' + driver + '"') || text.contains("'" + driver + "'");
    }
  }

  @JsonIgnoreProperties(ignoreUnknown = true)
  record Cel(@Nullable String expression) {}

  /**
   * @param nodeName null for devices that are not of one node
   */
  @JsonIgnoreProperties(ignoreUnknown = true)
  record SliceSpec(@Nullable String nodeName, String driver) {}

  @Group("resource.k8s.io")
  @Version("v1")
  @Plural("deviceclasses")
  static final class DeviceClass extends CustomResource<ClassSpec, Void> {
    private static final long serialVersionUID = 1;

    @Override
    protected ClassSpec initSpec() {
      return new ClassSpec(null, null);
    }
  }

  @Group("resource.k8s.io")
  @Version("v1")
  @Plural("resourceslices")
  static final class ResourceSlice extends CustomResource<SliceSpec, Void> {
    private static final long serialVersionUID = 1;

    @Override
    protected SliceSpec initSpec() {
      return new SliceSpec(null, "");
    }
  }

  /**
   * @param checkAgainMs how long after it was found missing the API is looked for again
   */
  public DraNodes(KubernetesClient client, List<String> resources, long checkAgainMs) {
    this.client = client;
    // Unlike an immutable set, it may be asked for null.
    this.resources = new HashSet<>(resources);
    this.checkAgainMs = checkAgainMs;
    this.classes = informer(DeviceClass.class);
    this.slices = informer(ResourceSlice.class);
  }

  private <T extends HasMetadata> SharedIndexInformer<T> informer(Class<T> kind) {
    return client.resources(kind).runnableInformer(0).exceptionHandler((started, e) -> true);
  }

  /** Returns at once. Without the API nothing else happens. */
  public void start() {
    discovery.start();
  }

  private void run() {
    try {
      while (!isServed()) {
        Thread.sleep(checkAgainMs);
      }
      classes.start();
    } catch (InterruptedException end) {
      LOG.debug("no longer looks for {}", API);
    }
  }

  private boolean isServed() {
    try {
      return client.supports(API, "DeviceClass");
    } catch (RuntimeException unreachable) {
      LOG.info("cannot read whether {} is served: {}", API, unreachable.toString());
      return false;
    }
  }

  /**
   * Returns the nodes with devices of a class of ours; empty while that is not known. The kubelet's
   * allocatable decides first: kube-scheduler uses DRA only on a node without the resource there.
   */
  public Optional<Set<String>> served() {
    if (!classes.hasSynced()) {
      return Optional.empty();
    }
    List<ClassSpec> ours =
        classes.getStore().list().stream()
            .map(CustomResource::getSpec)
            .filter(spec -> resources.contains(spec.extendedResourceName()))
            .toList();
    if (ours.isEmpty()) {
      return Optional.of(Set.of());
    }
    slices.start();
    return slices.hasSynced()
        ? Optional.of(
            slices.getStore().list().stream()
                .map(CustomResource::getSpec)
                .filter(slice -> ours.stream().anyMatch(each -> each.selects(slice.driver())))
                .flatMap(slice -> Optional.ofNullable(slice.nodeName()).stream())
                .collect(Collectors.toSet()))
        : Optional.empty();
  }

  @Override
  public void close() {
    discovery.interrupt();
    classes.stop();
    slices.stop();
  }
}
