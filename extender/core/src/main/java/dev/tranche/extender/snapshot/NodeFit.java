package dev.tranche.extender.snapshot;

import dev.tranche.extender.placement.GpuRequest;
import dev.tranche.extender.placement.GpuView;
import dev.tranche.extender.placement.Outcome;
import dev.tranche.extender.placement.Placement;
import dev.tranche.extender.placement.Reason;
import dev.tranche.extender.score.IdleGpus;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The evaluation of how one node fits one pod at one moment.
 *
 * @param fits as in the outcome; kept here because thousands are sorted by it
 * @param headroom how well the pod fits, 0 to {@link
 *     dev.tranche.extender.score.Scores#HEADROOM_MAX}. It is 0 if the pod does not fit, and under
 *     policy {@code packed}, which cannot score a node alone
 * @param cost of placing the pod there while idle GPUs are spared; otherwise 0
 * @param measuredGpus number of GPUs with a known load among those that may serve the pod, full or
 *     not
 * @param idleGpus number of these that are idle, as in {@link IdleGpus}, which would be one more
 *     object to load from memory
 */
public record NodeFit(
    String node,
    GpuRequest request,
    List<GpuView> gpus,
    Outcome outcome,
    boolean fits,
    int headroom,
    double cost,
    int measuredGpus,
    int idleGpus) {
  public static int[] headrooms(List<NodeFit> fits) {
    return fits.stream().mapToInt(NodeFit::headroom).toArray();
  }

  public boolean refusedFor(Reason reason) {
    return refusal() == reason;
  }

  /** Returns why the pod is not placed there; null if it is. Thousands are read for each pod. */
  public @Nullable Reason refusal() {
    return outcome instanceof Outcome.DoesNotFit(Reason reason) ? reason : null;
  }

  public Optional<Placement> placement() {
    return outcome instanceof Outcome.Fits(Placement placement)
        ? Optional.of(placement)
        : Optional.empty();
  }
}
