package dev.tranche.nodeplugin;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.toSet;

import dev.tranche.nodeplugin.config.Options;
import dev.tranche.nodeplugin.events.EventBuffer;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import dev.tranche.nodeplugin.mps.MpsAvailability;
import dev.tranche.nodeplugin.mps.MpsPlan;
import dev.tranche.nodeplugin.mps.MpsRoot;
import dev.tranche.nodeplugin.mps.MpsStatus;
import dev.tranche.nodeplugin.mps.MpsWatch;
import dev.tranche.nodeplugin.mps.StatusFile;
import dev.tranche.process.loop.MonotonicClock;
import io.vertx.core.Vertx;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes which MPS control daemons the config needs, and follows whether they serve. Confined to
 * the event loop.
 */
final class MpsKeeper {
  private static final Logger LOG = LoggerFactory.getLogger(MpsKeeper.class);

  private final Vertx vertx;
  private final PluginState state;
  private final EventBuffer events;
  private final boolean standAlone;
  private final StateKeeper planFile;
  private final StatusFile statusFile;
  private final MpsWatch watch;
  private MpsStatus status = new MpsStatus.None();
  // Null before the first. At the start it is that of an earlier run, if daemons serve it.
  private @Nullable MpsPlan plan;

  MpsKeeper(
      Vertx vertx, Options options, PluginState state, EventBuffer events, NodeMetrics metrics) {
    this.vertx = vertx;
    this.state = state;
    this.events = events;
    this.standAlone = options.extender().isEmpty();
    this.planFile =
        new StateKeeper(
            vertx,
            options.stateDir().resolve(MpsPlan.FILE),
            metrics,
            () -> (plan == null ? MpsPlan.NONE : plan).text().getBytes(UTF_8));
    this.statusFile = new StatusFile(new MpsRoot(options.mpsRootInContainer()));
    this.watch = new MpsWatch(options.nodeName(), MonotonicClock::ms);
  }

  /** Reads what an earlier run has kept. Blocks; before the event loop needs it. */
  void load() {
    planFile.load(
        kept -> {
          MpsPlan earlier = MpsPlan.parse(new String(kept, UTF_8));
          boolean serves =
              statusFile.read() instanceof MpsStatus.Serving(var lines)
                  && lines.equals(earlier.lines());
          plan = serves ? earlier : null;
        });
  }

  /**
   * Reads what the daemons say. Must be called every second.
   *
   * @param read called afterwards, if daemons are needed
   */
  void check(Runnable read) {
    if (state.mps() instanceof MpsAvailability.NotNeeded) {
      status = new MpsStatus.None();
      return;
    }
    vertx
        .executeBlocking(statusFile::read, true)
        .onSuccess(
            now -> {
              status = now;
              read.run();
            });
  }

  /** Applies the config and what the daemons said last. Returns whether that changed the state. */
  boolean update() {
    state.mpsPlan(standAlone).ifPresent(this::keep);
    MpsAvailability before = state.mps();
    MpsAvailability now = watch.update(state.requiredMps(standAlone), status);
    if (now.equals(before)) {
      return false;
    }
    state.mps(now);
    if (!now.getClass().equals(before.getClass())) {
      announce(now);
    }
    return true;
  }

  // A plan that only lacks a lost GPU would end the daemon, and all clients on the other GPUs.
  private void keep(MpsPlan now) {
    Set<String> listed = state.gpus().stream().map(gpu -> gpu.info().uuid()).collect(toSet());
    if (plan == null || !plan.covers(now, listed)) {
      plan = now;
      planFile.save();
    }
  }

  private void announce(MpsAvailability now) {
    switch (now) {
      case MpsAvailability.Missing missing ->
          events.node(
              "MpsDaemonMissing", missing.reason() + "; its GPUs are advertised whole", true);
      case MpsAvailability.Lost lost -> events.node("MpsDaemonLost", lost.reason(), true);
      case MpsAvailability.Serving ignored ->
          events.node("MpsDaemonServing", "the MPS control daemon serves the config", false);
      case MpsAvailability.Awaited ignored -> LOG.info("waiting for the MPS control daemon");
      case MpsAvailability.NotNeeded ignored -> {}
    }
  }
}
