package dev.tranche.extender.watch;

import dev.tranche.process.client.KubernetesJson;
import io.fabric8.kubernetes.api.model.HasMetadata;
import java.io.IOException;
import java.io.UncheckedIOException;

/** Objects that tests build, as a watch shows them. */
public final class Kinds {
  private Kinds() {}

  public static <T extends WatchedObject> T read(ResourceKind<?, T> kind, HasMetadata object) {
    try {
      return kind.read(KubernetesJson.MAPPER.valueToTree(object));
    } catch (IOException impossible) {
      throw new UncheckedIOException("memory cannot fail", impossible);
    }
  }
}
