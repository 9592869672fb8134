package dev.tranche.extender.watch;

import com.google.protobuf.CodedInputStream;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.GenericKubernetesResourceList;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

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

  /** The condition that kube-scheduler writes after an attempt. */
  private static final String SCHEDULED = "PodGroupInitiallyScheduled";

  private final MetadataFields metadata = new MetadataFields();
  private int minimum;
  private int refusal;

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
        metadata.namespace + "/" + metadata.name,
        metadata.uid,
        metadata.resourceVersion,
        minimum,
        refusal);
  }

  private PodGroupReader model(GenericKubernetesResource json) {
    metadata.read(json.getMetadata());
    if (json.get("spec", "schedulingPolicy", "gang", "minCount") instanceof Number count) {
      minimum = count.intValue();
    }
    if (json.get("status", "conditions") instanceof List<?> conditions) {
      for (Object each : conditions) {
        if (each instanceof Map<?, ?> of) {
          condition(of.get("type"), of.get("status"), of.get("reason"), of.get("message"));
        }
      }
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
              case 3 -> ProtobufFields.message(in, of -> of == 1 && condition(in));
              default -> false;
            });
    return this;
  }

  private boolean condition(CodedInputStream in) throws IOException {
    var texts = new String[] {"", "", "", ""};
    ProtobufFields.message(
        in,
        number ->
            switch (number) {
              case 1 -> ProtobufFields.text(in, texts, 0);
              case 2 -> ProtobufFields.text(in, texts, 1);
              case 5 -> ProtobufFields.text(in, texts, 2);
              case 6 -> ProtobufFields.text(in, texts, 3);
              default -> false;
            });
    condition(texts[0], texts[1], texts[2], texts[3]);
    return true;
  }

  /** The texts may be long, and only a change of them matters: a number stands for them. */
  private void condition(
      @Nullable Object type,
      @Nullable Object status,
      @Nullable Object reason,
      @Nullable Object message) {
    if (SCHEDULED.equals(type) && "False".equals(status)) {
      int hash = (reason + "\n" + message).hashCode();
      refusal = hash == 0 ? 1 : hash;
    }
  }

  private boolean policy(CodedInputStream in, int number) throws IOException {
    return number == GANG && ProtobufFields.message(in, of -> of == 1 && minCount(in));
  }

  private boolean minCount(CodedInputStream in) throws IOException {
    minimum = in.readInt32();
    return true;
  }
}
