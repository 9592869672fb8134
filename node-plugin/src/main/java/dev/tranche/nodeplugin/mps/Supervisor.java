package dev.tranche.nodeplugin.mps;

import static java.util.stream.Collectors.toSet;

import dev.tranche.api.Backoff;
import dev.tranche.nodeplugin.file.AtomicFile;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import dev.tranche.nodeplugin.nvml.AdminNvml;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the control daemons of a plan running: starts them, probes them, restarts them when one
 * fails, ends them. Blocks; confined to the thread that calls NVML.
 */
final class Supervisor {
  private static final Logger LOG = LoggerFactory.getLogger(Supervisor.class);
  private static final int BACKOFF_MIN_MS = 1_000;
  private static final int BACKOFF_MAX_MS = 60_000;
  private static final int PROBE_MS = 5_000;

  private final String program;
  private final MpsRoot root;
  private final ComputeModes modes;
  private final LongSupplier clockMs;
  private final NodeMetrics metrics;
  // Null at first, so that even an empty plan cleans up what an earlier run has left.
  private @Nullable MpsPlan plan;
  private final Map<MpsSet, ControlDaemon> daemons = new LinkedHashMap<>();
  private MpsStatus status = new MpsStatus.None();
  private final Backoff backoff = new Backoff(BACKOFF_MIN_MS, BACKOFF_MAX_MS);
  private long notBeforeMs;
  private long probeAtMs;

  /**
   * @param clockMs any monotonic clock
   */
  Supervisor(
      String program, MpsRoot root, AdminNvml nvml, LongSupplier clockMs, NodeMetrics metrics) {
    this.program = program;
    this.root = root;
    this.modes = new ComputeModes(nvml, new AtomicFile(root.computeModes()));
    this.clockMs = clockMs;
    this.metrics = metrics;
  }

  /** Runs one round: brings the daemons closer to the plan, and returns their status. */
  MpsStatus step(MpsPlan wanted) throws InterruptedException {
    if (!wanted.equals(plan)) {
      stopUnplanned(wanted);
      plan = wanted;
      backoff.reset();
      notBeforeMs = 0;
    }
    if (status instanceof MpsStatus.Serving) {
      probe();
    } else if (clockMs.getAsLong() >= notBeforeMs) {
      attempt(() -> start(wanted));
    }
    return status;
  }

  /** Ends daemons that are no longer planned. A daemon that stays unchanged keeps its clients. */
  private void stopUnplanned(MpsPlan wanted) throws InterruptedException {
    for (ControlDaemon daemon : List.copyOf(daemons.values())) {
      if (!wanted.sets().contains(daemon.set())) {
        daemon.stop();
        daemons.remove(daemon.set());
      }
    }
    status = new MpsStatus.None();
    restoreModes(
        daemons.keySet().stream()
            .flatMap(set -> set.gpus().stream())
            .map(MpsGpu::uuid)
            .collect(toSet()));
  }

  private void probe() throws InterruptedException {
    if (clockMs.getAsLong() >= probeAtMs) {
      probeAtMs = clockMs.getAsLong() + PROBE_MS;
      attempt(
          () -> {
            for (ControlDaemon daemon : daemons.values()) {
              daemon.probe();
              daemon.trimLog();
            }
          });
    }
  }

  private interface Attempt {
    void run() throws MpsException, IOException, InterruptedException;
  }

  private void attempt(Attempt what) throws InterruptedException {
    try {
      what.run();
    } catch (MpsException e) {
      failed(String.valueOf(e.getMessage()));
    } catch (IOException | RuntimeException e) {
      // A bug must not end this process: the daemons that serve, and their clients, live with it.
      failed(e.toString());
    }
  }

  private void failed(String reason) throws InterruptedException {
    long waitMs = backoff.next();
    notBeforeMs = clockMs.getAsLong() + waitMs;
    status = new MpsStatus.Failing(reason);
    // In EXCLUSIVE_PROCESS mode, a GPU without its daemon accepts only a single process.
    if (daemons.values().stream().noneMatch(ControlDaemon::alive)) {
      restoreModes(Set.of());
    }
    LOG.error("{}; the next attempt is in {} ms", reason, waitMs);
    countFailure(metrics);
  }

  /** Counts a start or a probe that failed. */
  static void countFailure(NodeMetrics metrics) {
    metrics.count("tranche.mps.failures", "Starts and probes of MPS control daemons that failed.");
  }

  // Keeps daemons that still serve: the clients of a daemon that works should not lose it because
  // another one fails.
  private void start(MpsPlan wanted) throws MpsException, IOException, InterruptedException {
    if (wanted.needed()) {
      modes.setExclusive(wanted.gpus());
    }
    for (MpsSet set : wanted.sets()) {
      ControlDaemon daemon =
          daemons.computeIfAbsent(set, of -> new ControlDaemon(program, of, root));
      if (!serves(daemon)) {
        daemon.start();
        metrics.count("tranche.mps.daemon.starts", "Starts of an MPS control daemon.");
      }
    }
    LOG.info("serving {}", wanted.lines());
    backoff.reset();
    probeAtMs = clockMs.getAsLong() + PROBE_MS;
    status = new MpsStatus.Serving(wanted.lines());
  }

  private static boolean serves(ControlDaemon daemon) throws InterruptedException {
    try {
      daemon.probe();
      return true;
    } catch (MpsException e) {
      return false;
    }
  }

  /** Ends all daemons and restores the compute modes. */
  void stop() throws InterruptedException {
    for (ControlDaemon daemon : daemons.values()) {
      daemon.stop();
    }
    restoreModes(Set.of());
  }

  private void restoreModes(Set<String> kept) {
    try {
      modes.restore(kept);
    } catch (IOException | RuntimeException e) {
      LOG.warn("cannot restore the compute modes: {}", e.toString());
    }
  }
}
