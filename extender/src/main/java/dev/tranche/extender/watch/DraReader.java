package dev.tranche.extender.watch;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads the fields of DeviceClasses and ResourceSlices that we need. */
public final class DraReader {
  /** The group and version. Extended resources are mapped from this version on only. */
  public static final String API = "resource.k8s.io/v1";

  private DraReader() {}

  record DeviceClass(Metadata metadata, Spec spec) {
    WatchedDeviceClass watched() {
      return new WatchedDeviceClass(
          metadata.name(),
          metadata.uid(),
          metadata.resourceVersion(),
          spec.extendedResourceName,
          spec.selectors.stream().map(Selector::expression).toList());
    }
  }

  record Slice(Metadata metadata, Spec spec) {
    WatchedSlice watched() {
      return new WatchedSlice(
          metadata.name(),
          metadata.uid(),
          metadata.resourceVersion(),
          spec.nodeName,
          spec.driver.intern());
    }
  }

  /** Of a DeviceClass, the resource and the selectors; of a ResourceSlice, the other two. */
  record Spec(
      String extendedResourceName, List<Selector> selectors, String nodeName, String driver) {}

  record Selector(@Nullable Cel cel) {
    record Cel(String expression) {}

    String expression() {
      return cel == null ? "" : cel.expression;
    }
  }

  public static ResourceKind<?, WatchedDeviceClass> deviceClasses() {
    return new ResourceKind<>(
        "/apis/" + API + "/deviceclasses", DeviceClass.class, DeviceClass::watched);
  }

  public static ResourceKind<?, WatchedSlice> resourceSlices() {
    return new ResourceKind<>("/apis/" + API + "/resourceslices", Slice.class, Slice::watched);
  }
}
