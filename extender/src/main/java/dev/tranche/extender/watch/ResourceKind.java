package dev.tranche.extender.watch;

import com.google.protobuf.CodedInputStream;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.KubernetesResourceList;
import java.io.IOException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A kind of object: its path in the API and how to read it.
 *
 * @param ofModel reads the object from JSON, through the client's model
 * @param ofMessage reads it from protobuf, which costs the API server a fraction; null for kinds
 *     with few objects
 */
public record ResourceKind<M extends HasMetadata, T extends WatchedObject>(
    String path,
    Class<M> type,
    Class<? extends KubernetesResourceList<M>> listType,
    Function<M, T> ofModel,
    @Nullable Reader<T> ofMessage) {
  /** Returns the plural name in the API's path, such as {@code pods}. */
  String plural() {
    return path.substring(path.lastIndexOf('/') + 1);
  }

  /** Reads an object's message to the end of the stream, or to its limit. */
  @FunctionalInterface
  interface Reader<T> {
    T read(CodedInputStream in) throws IOException;
  }
}
