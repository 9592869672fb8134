package dev.tranche.extender.http;

import dev.tranche.api.Names;
import dev.tranche.extender.verb.FakeWorld;
import dev.tranche.extender.verb.Verbs;
import dev.tranche.process.listen.LimitedTransport;
import dev.tranche.process.listen.ListeningPort;
import dev.tranche.process.loop.Loop;
import dev.tranche.process.settings.HostPort;
import io.micrometer.core.instrument.MeterRegistry;
import io.vertx.core.Vertx;
import java.util.List;

/** The verbs of an extender that knows no node and no API server. */
record IdleVerbs(FakeWorld world) {
  static IdleVerbs idle(MeterRegistry registry) {
    return new IdleVerbs(FakeWorld.unsynced(registry));
  }

  VerbServer server(Vertx vertx, LimitedTransport transport) {
    var loop = new Loop(vertx.getOrCreateContext());
    return new VerbServer(
        new HostPort("127.0.0.1", 0),
        new ListeningPort(vertx, transport, "verbs", VerbServer.limits(true)),
        world.readiness,
        routes(vertx, loop, VerbRoutes.READ_WITHIN_MS)::handle,
        loop);
  }

  VerbRoutes routes(Vertx vertx, Loop loop, long readWithinMs) {
    return new VerbRoutes(
        vertx,
        new ExtenderReader(List.of(Names.RESOURCE)),
        new Verbs(world.filter().filter(), world.prioritize(), world.bind(loop), world.preempt()),
        world.metrics,
        readWithinMs);
  }
}
