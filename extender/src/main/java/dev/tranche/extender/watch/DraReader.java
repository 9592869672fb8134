package dev.tranche.extender.watch;

import com.google.protobuf.CodedInputStream;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.GenericKubernetesResourceList;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads DeviceClasses and ResourceSlices, from JSON or from their protobuf messages.
 *
 * @see <a
 *     href="https://github.com/kubernetes/kubernetes/blob/v1.37.2/staging/src/k8s.io/api/resource/v1/generated.proto">the
 *     field numbers</a>
 */
public final class DraReader {
  /** The group and version. Extended resources are mapped from this version on only. */
  public static final String API = "resource.k8s.io/v1";

  private final List<String> expressions = new ArrayList<>();
  private final MetadataFields metadata = new MetadataFields();
  private String extendedResource = "";
  private String node = "";
  private String driver = "";

  private DraReader() {}

  public static ResourceKind<GenericKubernetesResource, WatchedDeviceClass> deviceClasses() {
    return new ResourceKind<>(
        "/apis/" + API + "/deviceclasses",
        GenericKubernetesResource.class,
        GenericKubernetesResourceList.class,
        json -> new DraReader().model(json).deviceClass(),
        in -> new DraReader().deviceClass(in).deviceClass());
  }

  public static ResourceKind<GenericKubernetesResource, WatchedSlice> resourceSlices() {
    return new ResourceKind<>(
        "/apis/" + API + "/resourceslices",
        GenericKubernetesResource.class,
        GenericKubernetesResourceList.class,
        json -> new DraReader().model(json).slice(),
        in -> new DraReader().slice(in).slice());
  }

  private WatchedDeviceClass deviceClass() {
    return new WatchedDeviceClass(
        metadata.name,
        metadata.uid,
        metadata.resourceVersion,
        extendedResource,
        List.copyOf(expressions));
  }

  private WatchedSlice slice() {
    return new WatchedSlice(
        metadata.name, metadata.uid, metadata.resourceVersion, node, driver.intern());
  }

  private DraReader model(GenericKubernetesResource json) {
    metadata.read(json.getMetadata());
    extendedResource = text(json.get("spec", "extendedResourceName"));
    node = text(json.get("spec", "nodeName"));
    driver = text(json.get("spec", "driver"));
    if (json.get("spec", "selectors") instanceof List<?> selectors) {
      for (int i = 0; i < selectors.size(); i++) {
        expressions.add(text(json.get("spec", "selectors", i, "cel", "expression")));
      }
    }
    return this;
  }

  private static String text(@Nullable Object value) {
    return value instanceof String text ? text : "";
  }

  private DraReader deviceClass(CodedInputStream in) throws IOException {
    return object(in, number -> classSpec(in, number));
  }

  private DraReader slice(CodedInputStream in) throws IOException {
    return object(in, number -> sliceSpec(in, number));
  }

  private DraReader object(CodedInputStream in, ProtobufFields.Field spec) throws IOException {
    ProtobufFields.fields(
        in,
        number ->
            switch (number) {
              case 1 -> ProtobufFields.message(in, of -> metadata.read(in, of));
              case 2 -> ProtobufFields.message(in, spec);
              default -> false;
            });
    return this;
  }

  private boolean classSpec(CodedInputStream in, int number) throws IOException {
    return switch (number) {
      case 1 ->
          ProtobufFields.message(
              in, of -> of == 1 && ProtobufFields.message(in, cel -> cel == 1 && expression(in)));
      case 4 -> {
        extendedResource = in.readString();
        yield true;
      }
      default -> false;
    };
  }

  private boolean expression(CodedInputStream in) throws IOException {
    return expressions.add(in.readString());
  }

  private boolean sliceSpec(CodedInputStream in, int number) throws IOException {
    switch (number) {
      case 1 -> driver = in.readString();
      case 3 -> node = in.readString();
      default -> {
        return false;
      }
    }
    return true;
  }
}
