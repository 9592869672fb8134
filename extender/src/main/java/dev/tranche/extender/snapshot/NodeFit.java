package dev.tranche.extender.snapshot;

import dev.tranche.extender.placement.GpuRequest;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Outcome;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.score.IdleGpus;
import java.util.List;
import java.util.Optional;

/**
 * What one node could do for one pod at one moment.
 *
 * @param fits as the outcome says; thousands are sorted by it, without a look at each outcome
 * @param headroom how good it is, 0 to {@link dev.tranche.extender.score.Scores#HEADROOM_MAX}; 0
 *     where it does not fit, and where pods are packed, since that is of no node alone
 * @param cost of putting the pod there, where idle GPUs are spared; else 0
 * @param measuredGpus of those that may serve the pod, full or not, so many have a known load
 * @param idleGpus of these; as in {@link IdleGpus}, which would be one more object to wait for
 */
public record NodeFit(
    String node,
    GpuRequest ask,
    List<GpuView> gpus,
    Outcome outcome,
    boolean fits,
    int headroom,
    double cost,
    int measuredGpus,
    int idleGpus) {
  /** Nothing has been heard of the node. */
  public boolean silent() {
    return outcome.refusal().filter(reason -> reason == Reason.NO_REPORT).isPresent();
  }

  public Optional<Placement> placement() {
    return outcome instanceof Outcome.Fits(Placement placement)
        ? Optional.of(placement)
        : Optional.empty();
  }
}
