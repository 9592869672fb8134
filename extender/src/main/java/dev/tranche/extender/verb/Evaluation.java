package dev.tranche.extender.verb;

import dev.tranche.extender.placement.Ask;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Outcome;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.score.Idleness;
import java.util.List;
import java.util.Optional;

/**
 * What one node could do for one pod at one moment.
 *
 * @param idleness of those GPUs that may serve the pod, full or not
 */
public record Evaluation(
    String node, Ask ask, List<GpuView> gpus, Outcome outcome, Idleness idleness) {
  public Optional<Placement> placement() {
    return outcome instanceof Outcome.Fits(Placement placement)
        ? Optional.of(placement)
        : Optional.empty();
  }
}
