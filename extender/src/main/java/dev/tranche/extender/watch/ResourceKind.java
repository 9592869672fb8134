package dev.tranche.extender.watch;

import com.google.protobuf.CodedInputStream;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.KubernetesResourceList;
import java.io.IOException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One kind of object: where it is and how it is read.
 *
 * @param ofModel from JSON, by way of the client's model
 * @param ofMessage from protobuf, which the API server has ready at a fraction of the cost; null
 *     where there are few
 */
public record ResourceKind<M extends HasMetadata, T extends WatchedObject>(
    String path,
    Class<M> type,
    Class<? extends KubernetesResourceList<M>> listType,
    Function<M, T> ofModel,
    @Nullable Reader<T> ofMessage) {
  /** As the API's path says it, such as {@code pods}. */
  String plural() {
    return path.substring(path.lastIndexOf('/') + 1);
  }

  /** Reads an object's message to the end of the stream, or to its limit. */
  @FunctionalInterface
  interface Reader<T> {
    T read(CodedInputStream in) throws IOException;
  }
}
