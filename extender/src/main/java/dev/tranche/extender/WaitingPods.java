package dev.tranche.extender;

import dev.tranche.extender.controller.ApiWriter;
import dev.tranche.extender.controller.Controller;
import dev.tranche.extender.controller.PinChecks;
import dev.tranche.extender.controller.SchedulerMessages;
import dev.tranche.extender.controller.WaitEvents;
import dev.tranche.extender.controller.WaitSurvey;
import dev.tranche.extender.explain.Explanations;
import dev.tranche.extender.explain.WaitCause;
import dev.tranche.extender.ledger.PodFacts;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.selection.NodeTraits;
import dev.tranche.process.loop.Loop;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Passes on why pods wait: to their owners, and to what checks their requirements of nodes. */
final class WaitingPods implements Explanations.Owners {
  private final WaitEvents events;
  private final Function<Explanations, PinChecks> newPins;
  private @Nullable PinChecks pins;

  /**
   * @param deciding whether this extender may decide at all, as a leader does
   */
  WaitingPods(
      ApiWriter api,
      SchedulerMessages messages,
      NodeTraits.Table traits,
      Supplier<Loop> loop,
      BooleanSupplier deciding,
      ExtenderMetrics metrics) {
    events =
        new WaitEvents(
            event -> loop.get().completeOnLoop(api.podEvent(event)),
            deciding,
            Extender::nowMs,
            Extender::toClockMs,
            metrics);
    newPins =
        explanations ->
            new PinChecks(
                explanations,
                pod -> loop.get().completeOnLoop(messages.selection(pod)),
                traits::pin,
                traits::size,
                metrics);
  }

  @Override
  public void waits(PodFacts pod, WaitCause cause, Supplier<String> figures) {
    events.waits(pod, cause, figures);
    if (pins != null) {
      pins.waits(pod, cause);
    }
  }

  /** To be called once, before any pod is judged. */
  List<Controller> controllers(Explanations explanations, Function<WaitEvents, WaitSurvey> survey) {
    pins = newPins.apply(explanations);
    return List.of(survey.apply(events), pins, events);
  }
}
