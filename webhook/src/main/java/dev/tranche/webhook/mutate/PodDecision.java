package dev.tranche.webhook.mutate;

import dev.tranche.webhook.pod.PodView;
import dev.tranche.webhook.request.GpuContainer;
import java.util.List;
import java.util.Optional;

/**
 * What becomes of a pod that is admitted.
 *
 * @param pod the owner's, with what other systems' annotations on it say
 * @param byOthers whether its number counts GPUs of nodes that others serve
 * @param affinity where it may run
 * @param grants how much it gets; empty if its numbers stay as they are
 * @param chosen the container of a share that names none
 * @param placed whether Tranche's scheduler places the pod
 */
record PodDecision(
    PodView pod,
    boolean byOthers,
    RequiredNodeAffinity affinity,
    List<Grant> grants,
    Optional<GpuContainer> chosen,
    boolean placed) {
  /** A pod that Tranche's scheduler does not place, and whose numbers stay as they are. */
  static PodDecision leave(PodView pod, boolean byOthers, RequiredNodeAffinity affinity) {
    return new PodDecision(pod, byOthers, affinity, List.of(), Optional.empty(), false);
  }
}
