package dev.tranche.webhook;

import com.fasterxml.jackson.databind.JsonNode;
import dev.tranche.webhook.PodView.Container;
import java.util.List;
import java.util.Optional;

/**
 * What Kubernetes would refuse for its size, refused first: webhooks see a pod before it is
 * validated, and must not work through what nobody would ever run.
 */
final class Sizes {
  private static final int ANNOTATIONS_CHARS_MAX = 256 << 10;
  private static final int CONTAINER_CHARS_MAX = 63;
  private static final int CONTAINERS_MAX = 1_000;
  private static final int TERMS_MAX = 1_000;

  private Sizes() {}

  /** A sentence, or nothing. */
  static Optional<String> tooLarge(PodView pod) {
    List<Container> containers = pod.containers();
    if (containers.size() > CONTAINERS_MAX) {
      return refuse(containers.size() + " containers", String.valueOf(CONTAINERS_MAX));
    }
    for (Container container : containers) {
      if (container.name().length() > CONTAINER_CHARS_MAX) {
        return refuse(
            "a container \"%s\"".formatted(Shown.of(container.name())),
            CONTAINER_CHARS_MAX + " characters of name");
      }
    }
    long chars = 0;
    for (var annotation : pod.annotations().entrySet()) {
      chars += annotation.getKey().length() + annotation.getValue().length();
    }
    if (chars > ANNOTATIONS_CHARS_MAX) {
      return refuse(chars + " bytes of annotations", ANNOTATIONS_CHARS_MAX + " bytes");
    }
    JsonNode terms =
        pod.spec()
            .path("affinity")
            .path("nodeAffinity")
            .path("requiredDuringSchedulingIgnoredDuringExecution")
            .path("nodeSelectorTerms");
    return terms.size() > TERMS_MAX
        ? refuse(terms.size() + " nodeSelectorTerms", String.valueOf(TERMS_MAX))
        : Optional.empty();
  }

  private static Optional<String> refuse(String has, String most) {
    return Optional.of(Denial.TOO_LARGE.of(has, most));
  }
}
