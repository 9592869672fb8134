package dev.tranche.webhook.mutate;

import dev.tranche.webhook.compat.Translation;
import dev.tranche.webhook.pod.Problem;
import dev.tranche.webhook.request.GpuContainer;
import java.util.List;
import java.util.Optional;

/** What becomes of a pod. */
sealed interface Decision {
  /** The pod is denied for these reasons. */
  record Refused(List<Problem> problems) implements Decision {}

  /**
   * @param translation of what other systems' annotations on the owner's pod say
   * @param byOthers whether its number counts GPUs of nodes that others serve
   * @param affinity where it may run
   * @param grants how much it gets
   * @param warnings what its owner is told
   */
  record Admitted(
      Translation translation,
      boolean byOthers,
      NodeAffinityPatch affinity,
      Grants grants,
      List<String> warnings)
      implements Decision {}

  /**
   * @param granted empty if the pod's numbers stay as they are
   * @param chosen the container of a share that names none
   * @param placed whether Tranche's scheduler places the pod
   */
  record Grants(
      Optional<GrantResult.Granted> granted, Optional<GpuContainer> chosen, boolean placed) {
    static final Grants NONE = new Grants(Optional.empty(), Optional.empty(), false);
  }
}
