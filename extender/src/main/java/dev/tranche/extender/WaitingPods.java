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
import dev.tranche.extender.limit.NodeRate;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.selection.NodeTraits;
import dev.tranche.process.loop.Loop;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.Supplier;

/** What remembers why pods wait, and passes on what is found out. */
final class WaitingPods {
  private final Explanations explanations = new Explanations(this::waits);
  private final WaitEvents events;
  private final PinChecks pins;

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
            new NodeRate("wait-events", WaitEvents.RATE, Extender::nowMs, metrics),
            Extender::nowMs,
            Extender::toClockMs,
            metrics);
    pins =
        new PinChecks(
            explanations,
            pod -> loop.get().completeOnLoop(messages.selection(pod)),
            traits::pin,
            metrics);
  }

  private void waits(PodFacts pod, WaitCause cause, Supplier<String> figures) {
    events.waits(pod, cause, figures);
    pins.waits(pod, cause);
  }

  Explanations explanations() {
    return explanations;
  }

  List<Controller> controllers(Function<WaitEvents, WaitSurvey> survey) {
    return List.of(survey.apply(events), pins, events);
  }
}
