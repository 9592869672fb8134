package dev.tranche.extender.controller;

import dev.tranche.extender.explain.Explanations;
import dev.tranche.extender.explain.WaitCause;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.selection.PodSelection.Pin;
import dev.tranche.process.TokenBucket;
import dev.tranche.process.meters.Failures;
import io.vertx.core.Future;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.IntSupplier;

/**
 * Finds out by which labels admission keeps waiting pods from nodes that would fit, what of a pod
 * contradicts them, and whether its own fields exclude all nodes with GPUs. What a pod requires of
 * its nodes is not kept, so that the API server is asked for the few pods that wait for it.
 * Confined to the loop.
 */
public final class PinChecks implements WaitSurvey.Listener {
  static final int READS_PER_SECOND_MAX = 5;
  static final int BURST = 15;

  private final Explanations explanations;
  private final Failures failures;
  private final Function<String, Future<Optional<Pin>>> pins;
  private final IntSupplier gpuNodes;
  private final TokenBucket rate;

  /**
   * @param pins reads what a pod requires of its nodes, by {@code namespace/name}, and completes on
   *     the loop; empty if the API server does not answer
   * @param gpuNodes how many nodes have GPUs
   */
  public PinChecks(
      ControllerContext context,
      Function<String, Future<Optional<Pin>>> pins,
      IntSupplier gpuNodes) {
    this.explanations = context.core().explanations;
    this.failures = context.metrics().failures;
    this.pins = pins;
    this.gpuNodes = gpuNodes;
    this.rate = new TokenBucket(BURST, READS_PER_SECOND_MAX, context::nowMs);
  }

  /** Reads the pod. What is too much now is asked for by a later survey. */
  @Override
  public void waits(PodFacts pod, WaitCause cause, String figures) {
    if (explanations.asksForPin(pod, cause, gpuNodes.getAsInt()) && rate.tryAcquire()) {
      pins.apply(pod.key())
          .onSuccess(found -> found.ifPresent(pin -> explanations.pinned(pod.uid(), pin)))
          .onFailure(bug -> failures.failed(Failures.TASK, "the reading of a pin", bug));
    }
  }
}
