package dev.tranche.webhook.mutate;

import dev.tranche.webhook.pod.PodView.Container;
import java.util.List;
import java.util.Optional;

/**
 * What becomes of a pod that is admitted.
 *
 * @param byOthers whether its number counts GPUs of nodes that others serve
 * @param grants how much it gets; empty if its numbers stay as they are
 * @param chosen the container of a share that names none
 * @param placed whether Tranche's scheduler places the pod
 */
record PodDecision(
    boolean byOthers, List<Grant> grants, Optional<Container> chosen, boolean placed) {
  /** A pod that Tranche's scheduler does not place, and whose numbers stay as they are. */
  static PodDecision leave(boolean byOthers) {
    return new PodDecision(byOthers, List.of(), Optional.empty(), false);
  }
}
