package dev.tranche.extender.watch;

import com.google.protobuf.CodedInputStream;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import java.io.IOException;
import java.util.Objects;

/**
 * What every kind needs of its ObjectMeta, from JSON or from the protobuf message.
 *
 * @see <a
 *     href="https://github.com/kubernetes/kubernetes/blob/v1.34.4/staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto">the
 *     field numbers</a>
 */
final class MetadataFields {
  String name = "";
  String namespace = "";
  String uid = "";
  String resourceVersion = "";

  void read(ObjectMeta json) {
    name = json.getName();
    namespace = Objects.toString(json.getNamespace(), "");
    uid = String.valueOf(json.getUid());
    resourceVersion = String.valueOf(json.getResourceVersion());
  }

  /** Reads one field of the message; returns false if it is another. */
  boolean read(CodedInputStream in, int number) throws IOException {
    switch (number) {
      case 1 -> name = in.readString();
      case 3 -> namespace = in.readString();
      case 5 -> uid = in.readString();
      case 6 -> resourceVersion = in.readString();
      default -> {
        return false;
      }
    }
    return true;
  }
}
