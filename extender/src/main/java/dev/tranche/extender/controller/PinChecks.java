package dev.tranche.extender.controller;

import dev.tranche.extender.explain.Explanations;
import dev.tranche.extender.explain.WaitCause;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.selection.PodSelection;
import io.vertx.core.Future;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.function.Function;
import java.util.function.IntSupplier;
import java.util.function.Supplier;

/**
 * Finds out by which labels admission keeps waiting pods from nodes that would fit, what of a pod
 * contradicts them, and whether its own fields exclude all nodes with GPUs. What a pod requires of
 * its nodes is not kept, so that the API server is asked for the few pods that wait for it.
 * Confined to the loop.
 */
public final class PinChecks implements Controller, WaitSurvey.Listener {
  static final int READS_PER_SECOND_MAX = 5;
  static final int QUEUE_MAX = 1_000;

  private final Explanations explanations;
  private final Function<String, Future<Optional<PodSelection>>> selections;
  private final Function<PodSelection, PodSelection.Pin> pins;
  private final IntSupplier gpuNodes;

  /** By uid. */
  private final SequencedMap<String, PodFacts> queue = new LinkedHashMap<>();

  /**
   * @param selections reads a pod by {@code namespace/name}, and completes on the loop; empty if
   *     the API server does not answer
   * @param pins what such a pod requires of its nodes
   * @param gpuNodes how many nodes have GPUs
   */
  public PinChecks(
      ControllerContext context,
      Function<String, Future<Optional<PodSelection>>> selections,
      Function<PodSelection, PodSelection.Pin> pins,
      IntSupplier gpuNodes) {
    this.explanations = context.core().explanations;
    this.selections = selections;
    this.pins = pins;
    this.gpuNodes = gpuNodes;
    context
        .metrics()
        .gauge(
            "tranche.extender.pin.checks.queued",
            "Waiting pods whose requirements of nodes are still to be read; 1,000 at most.",
            queue::size);
  }

  @Override
  public void waits(PodFacts pod, WaitCause cause, Supplier<String> figures) {
    if (queue.size() < QUEUE_MAX && explanations.asksForPin(pod, cause, gpuNodes.getAsInt())) {
      queue.put(pod.uid(), pod);
    }
  }

  /** Reads the next pods. What is not read now is asked for by the next survey. */
  @Override
  public void tick() {
    for (int i = 0; i < READS_PER_SECOND_MAX; i++) {
      Map.Entry<String, PodFacts> next = queue.pollFirstEntry();
      if (next == null) {
        return;
      }
      PodFacts pod = next.getValue();
      selections
          .apply(pod.key())
          .onSuccess(
              selection ->
                  selection.ifPresent(read -> explanations.pinned(pod.uid(), pins.apply(read))));
    }
  }
}
