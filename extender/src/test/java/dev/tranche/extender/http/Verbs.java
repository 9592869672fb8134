package dev.tranche.extender.http;

import dev.tranche.api.Names;
import dev.tranche.extender.verb.FakeWorld;
import dev.tranche.extender.verb.RecentlyFilteredPods;
import dev.tranche.process.loop.Loop;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.List;

/** The verbs of an extender that knows no node and no API server. */
record Verbs(FakeWorld world) {
  static Verbs idle(MeterRegistry registry) {
    return new Verbs(FakeWorld.unsynced(registry));
  }

  VerbRoutes routes(Loop loop, long readWithinMs) {
    var asked = new RecentlyFilteredPods();
    return new VerbRoutes(
        new ExtenderReader(List.of(Names.RESOURCE)),
        world.filter(asked, 0),
        world.prioritize(),
        world.bind(asked, loop),
        world.preempt(),
        world.metrics,
        readWithinMs);
  }
}
