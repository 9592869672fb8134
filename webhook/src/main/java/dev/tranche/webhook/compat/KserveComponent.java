package dev.tranche.webhook.compat;

import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.pod.Warning;
import java.util.Optional;
import java.util.Set;

/**
 * A pod of an InferenceService that is not the one with the model. KServe copies the annotations of
 * an InferenceService to all of its pods.
 */
public final class KserveComponent {
  /** The label with the name of the InferenceService. */
  private static final String SERVICE = "serving.kserve.io/inferenceservice";

  /** The label with the pod's part in it. */
  private static final String COMPONENT = "component";

  private static final Set<String> WITHOUT_MODEL = Set.of("transformer", "explainer");

  private KserveComponent() {}

  /**
   * Warns of a share that a pod without the model gets.
   *
   * @param pod requests a share, and no GPU by number
   */
  public static Optional<String> warning(PodView pod) {
    String service = label(pod, SERVICE);
    String component = label(pod, COMPONENT);
    return service.isEmpty() || !WITHOUT_MODEL.contains(component)
        ? Optional.empty()
        : Optional.of(Warning.KSERVE_COMPONENT.of(component, service));
  }

  private static String label(PodView pod, String key) {
    return pod.pod().path("metadata").path("labels").path(key).asText("");
  }
}
