package dev.tranche.nodeplugin.mps;

import dev.tranche.nodeplugin.nvml.AdminNvml;
import dev.tranche.nodeplugin.nvml.NvmlException;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the control daemons of a plan running: starts them, probes them, starts them again when one
 * fails, ends them. Blocks; confined to the thread of NVML.
 */
final class Supervisor {
  private static final Logger LOG = LoggerFactory.getLogger(Supervisor.class);
  private static final int BACKOFF_MIN_MS = 1_000;
  private static final int BACKOFF_MAX_MS = 60_000;
  private static final int PROBE_MS = 5_000;
  private static final int DOUBLINGS_MAX = 10;

  private final String program;
  private final MpsRoot root;
  private final ComputeModes modes;
  private final LongSupplier clockMs;
  private final Listener listener;
  // At first not even none: what an earlier run has left is put right.
  private @Nullable MpsPlan current;
  private MpsPlan plan = MpsPlan.NONE;
  private List<ControlDaemon> daemons = List.of();
  private MpsStatus status = new MpsStatus.Silent();
  private int failures;
  private long notBeforeMs;
  private long probeAtMs;

  /** What is counted. Called on the supervisor's thread. */
  interface Listener {
    void started(String resource);

    void failed(String reason);

    void logTrimmed(String resource);
  }

  /**
   * @param clockMs any clock that only goes forward
   */
  Supervisor(
      String program, MpsRoot root, AdminNvml nvml, LongSupplier clockMs, Listener listener) {
    this.program = program;
    this.root = root;
    this.modes = new ComputeModes(nvml, root.computeModes());
    this.clockMs = clockMs;
    this.listener = listener;
  }

  /** One round: brings what runs nearer to the plan, and says how it stands. */
  MpsStatus step(MpsPlan wanted) throws InterruptedException {
    if (!wanted.equals(current)) {
      stop();
      current = wanted;
      plan = wanted;
      failures = 0;
      notBeforeMs = 0;
    }
    if (status instanceof MpsStatus.Serving) {
      probe();
    } else if (clockMs.getAsLong() >= notBeforeMs) {
      attempt(this::start);
    }
    return status;
  }

  private void probe() throws InterruptedException {
    if (clockMs.getAsLong() >= probeAtMs) {
      probeAtMs = clockMs.getAsLong() + PROBE_MS;
      attempt(
          () -> {
            for (ControlDaemon daemon : daemons) {
              daemon.probe();
              if (daemon.trimLog()) {
                listener.logTrimmed(daemon.resource());
              }
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
    } catch (IOException | NvmlException e) {
      failed(e.toString());
    }
  }

  private void failed(String reason) throws InterruptedException {
    long waitMs =
        Math.min(BACKOFF_MAX_MS, (long) BACKOFF_MIN_MS << Math.min(failures, DOUBLINGS_MAX));
    failures++;
    notBeforeMs = clockMs.getAsLong() + waitMs;
    status = new MpsStatus.Failing(reason);
    unready();
    freeUnlessServed();
    LOG.error("{}; the next attempt is in {} ms", reason, waitMs);
    listener.failed(reason);
  }

  // In EXCLUSIVE_PROCESS a GPU without its daemon takes a single process.
  private void freeUnlessServed() {
    if (daemons.stream().noneMatch(ControlDaemon::alive)) {
      restoreModes();
    }
  }

  // What was started stays started until all are started anew: the clients of a daemon that works
  // should not lose it because another one fails.
  private void start() throws MpsException, IOException, InterruptedException {
    if (plan.needed()) {
      Files.createDirectories(root.folder());
      modes.exclusive(plan.gpus());
    }
    List<ControlDaemon> all = new ArrayList<>(daemons);
    if (all.isEmpty()) {
      plan.sets().forEach(set -> all.add(new ControlDaemon(program, set, root)));
      daemons = List.copyOf(all);
    }
    for (ControlDaemon daemon : all) {
      if (!serves(daemon)) {
        daemon.start();
        listener.started(daemon.resource());
      }
    }
    serving();
  }

  private boolean serves(ControlDaemon daemon) throws InterruptedException {
    if (failures == 0) {
      return false;
    }
    try {
      daemon.probe();
      return true;
    } catch (MpsException e) {
      return false;
    }
  }

  private void serving() throws IOException {
    if (plan.needed()) {
      Files.writeString(root.ready(), "");
      LOG.info("serving {}", plan.lines());
    }
    failures = 0;
    probeAtMs = clockMs.getAsLong() + PROBE_MS;
    status = new MpsStatus.Serving(plan.lines());
  }

  private void unready() {
    try {
      Files.deleteIfExists(root.ready());
    } catch (IOException e) {
      LOG.warn("{} stays: {}", root.ready(), e.toString());
    }
  }

  /** Ends all of them and puts the compute modes back. */
  void stop() throws InterruptedException {
    unready();
    for (ControlDaemon daemon : daemons) {
      daemon.stop();
    }
    daemons = List.of();
    current = null;
    plan = MpsPlan.NONE;
    status = new MpsStatus.Silent();
    restoreModes();
  }

  private void restoreModes() {
    try {
      modes.restore();
    } catch (IOException | NvmlException e) {
      LOG.warn("the compute modes are not put back: {}", e.toString());
    }
  }
}
