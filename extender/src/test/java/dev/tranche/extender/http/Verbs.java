package dev.tranche.extender.http;

import dev.tranche.api.Names;
import dev.tranche.extender.ledger.Timing;
import dev.tranche.extender.metrics.ExtenderMetrics;
import dev.tranche.extender.placement.MemoryGuard;
import dev.tranche.extender.score.Policy;
import dev.tranche.extender.verb.Asked;
import dev.tranche.extender.verb.Bind;
import dev.tranche.extender.verb.Core;
import dev.tranche.extender.verb.Filter;
import dev.tranche.extender.verb.Idle;
import dev.tranche.extender.verb.Loop;
import dev.tranche.extender.verb.Preempt;
import dev.tranche.extender.verb.Prioritize;
import java.util.List;

/** The verbs of an extender that knows no node and no API server. */
record Verbs(Core core, ExtenderMetrics metrics) {
  private static final Idle IDLE = new Idle();

  static Verbs idle(ExtenderMetrics metrics) {
    var core =
        new Core(
            Policy.LOAD, MemoryGuard.ENFORCE, Timing.DEFAULT, 15_000, IDLE, IDLE, metrics, () -> 0);
    return new Verbs(core, metrics);
  }

  VerbRoutes routes(Loop loop, long readWithinMs) {
    var asked = new Asked();
    return new VerbRoutes(
        new ExtenderReader(List.of(Names.RESOURCE)),
        new Filter(core, asked, 0),
        new Prioritize(core),
        new Bind(core, asked, IDLE, loop),
        new Preempt(core),
        metrics,
        readWithinMs);
  }
}
