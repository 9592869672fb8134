package dev.tranche.extender.watch;

import com.google.protobuf.CodedInputStream;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.GenericKubernetesResourceList;
import java.io.IOException;

/**
 * Reads PodGroups, from JSON or from their protobuf messages.
 *
 * @see <a
 *     href="https://github.com/kubernetes/kubernetes/blob/v1.37.2/staging/src/k8s.io/api/scheduling/v1beta1/generated.proto">the
 *     field numbers</a>
 */
public final class PodGroupReader {
  /** The group and version. Earlier ones name a pod's group in another way. */
  public static final String API = "scheduling.k8s.io/v1beta1";

  private static final int SCHEDULING_POLICY = 3;
  private static final int GANG = 2;

  private final MetadataFields metadata = new MetadataFields();
  private int minimum;

  private PodGroupReader() {}

  public static ResourceKind<GenericKubernetesResource, WatchedPodGroup> kind() {
    return new ResourceKind<>(
        "/apis/" + API + "/podgroups",
        GenericKubernetesResource.class,
        GenericKubernetesResourceList.class,
        json -> new PodGroupReader().model(json).watched(),
        in -> new PodGroupReader().message(in).watched());
  }

  private WatchedPodGroup watched() {
    return new WatchedPodGroup(
        metadata.namespace + "/" + metadata.name, metadata.uid, metadata.resourceVersion, minimum);
  }

  private PodGroupReader model(GenericKubernetesResource json) {
    metadata.read(json.getMetadata());
    if (json.get("spec", "schedulingPolicy", "gang", "minCount") instanceof Number count) {
      minimum = count.intValue();
    }
    return this;
  }

  private PodGroupReader message(CodedInputStream in) throws IOException {
    ProtobufFields.fields(
        in,
        number ->
            switch (number) {
              case 1 -> ProtobufFields.message(in, of -> metadata.read(in, of));
              case 2 ->
                  ProtobufFields.message(
                      in,
                      of ->
                          of == SCHEDULING_POLICY
                              && ProtobufFields.message(in, p -> policy(in, p)));
              default -> false;
            });
    return this;
  }

  private boolean policy(CodedInputStream in, int number) throws IOException {
    return number == GANG && ProtobufFields.message(in, of -> of == 1 && minCount(in));
  }

  private boolean minCount(CodedInputStream in) throws IOException {
    minimum = in.readInt32();
    return true;
  }
}
