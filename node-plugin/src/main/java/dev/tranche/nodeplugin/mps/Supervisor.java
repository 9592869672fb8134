package dev.tranche.nodeplugin.mps;

import dev.tranche.api.Backoff;
import dev.tranche.nodeplugin.nvml.AdminNvml;
import dev.tranche.nodeplugin.nvml.NvmlException;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
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

  private final String program;
  private final MpsRoot root;
  private final ComputeModes modes;
  private final LongSupplier clockMs;
  private final BiConsumer<String, String> count;
  // At first not even none: what an earlier run has left is put right.
  private @Nullable MpsPlan current;
  private MpsPlan plan = MpsPlan.NONE;
  private List<ControlDaemon> daemons = List.of();
  // Those of the daemons that this run has started with success.
  private final Set<ControlDaemon> begun = new HashSet<>();
  private MpsStatus status = new MpsStatus.Silent();
  private final Backoff backoff = new Backoff(BACKOFF_MIN_MS, BACKOFF_MAX_MS);
  private long notBeforeMs;
  private long probeAtMs;

  /**
   * @param clockMs any clock that only goes forward
   * @param count takes the name of a metric and its help; called on this thread
   */
  Supervisor(
      String program,
      MpsRoot root,
      AdminNvml nvml,
      LongSupplier clockMs,
      BiConsumer<String, String> count) {
    this.program = program;
    this.root = root;
    this.modes = new ComputeModes(nvml, root.computeModes());
    this.clockMs = clockMs;
    this.count = count;
  }

  /** One round: brings what runs nearer to the plan, and says how it stands. */
  MpsStatus step(MpsPlan wanted) throws InterruptedException {
    if (!wanted.equals(current)) {
      change(wanted);
      current = wanted;
      plan = wanted;
      backoff.reset();
      notBeforeMs = 0;
    }
    if (status instanceof MpsStatus.Serving) {
      probe();
    } else if (clockMs.getAsLong() >= notBeforeMs) {
      attempt(this::start);
    }
    return status;
  }

  /** Ends what is wanted no more. The clients of a daemon that stays as it is keep it. */
  private void change(MpsPlan wanted) throws InterruptedException {
    unready();
    List<ControlDaemon> kept = new ArrayList<>();
    for (ControlDaemon daemon : daemons) {
      if (wanted.sets().contains(daemon.set())) {
        kept.add(daemon);
      } else {
        daemon.stop();
      }
    }
    daemons = List.copyOf(kept);
    begun.retainAll(daemons);
    status = new MpsStatus.Silent();
    restoreModes(gpus(daemons));
  }

  private static Set<String> gpus(List<ControlDaemon> daemons) {
    return daemons.stream()
        .flatMap(daemon -> daemon.set().gpus().stream())
        .map(MpsGpu::uuid)
        .collect(Collectors.toUnmodifiableSet());
  }

  private void probe() throws InterruptedException {
    if (clockMs.getAsLong() >= probeAtMs) {
      probeAtMs = clockMs.getAsLong() + PROBE_MS;
      attempt(
          () -> {
            for (ControlDaemon daemon : daemons) {
              daemon.probe();
              if (daemon.trimLog()) {
                count.accept(
                    "tranche.mps.logs.trimmed", "Logs of MPS control daemons emptied at 16 MiB.");
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
    long waitMs = backoff.next();
    notBeforeMs = clockMs.getAsLong() + waitMs;
    status = new MpsStatus.Failing(reason);
    unready();
    freeUnlessServed();
    LOG.error("{}; the next attempt is in {} ms", reason, waitMs);
    countFailure(count);
  }

  /** Counts a start or a probe that failed. */
  static void countFailure(BiConsumer<String, String> count) {
    count.accept("tranche.mps.failures", "Starts and probes of MPS control daemons that failed.");
  }

  // In EXCLUSIVE_PROCESS a GPU without its daemon takes a single process.
  private void freeUnlessServed() {
    if (daemons.stream().noneMatch(ControlDaemon::alive)) {
      restoreModes(Set.of());
    }
  }

  // What was started stays started until all are started anew: the clients of a daemon that works
  // should not lose it because another one fails.
  private void start() throws MpsException, IOException, InterruptedException {
    if (plan.needed()) {
      Files.createDirectories(root.folder());
      modes.exclusive(plan.gpus());
    }
    daemons = plan.sets().stream().map(this::daemon).toList();
    for (ControlDaemon daemon : daemons) {
      if (!serves(daemon)) {
        begun.remove(daemon);
        daemon.start();
        begun.add(daemon);
        count.accept("tranche.mps.daemon.starts", "Starts of an MPS control daemon.");
      }
    }
    serving();
  }

  private ControlDaemon daemon(MpsSet set) {
    return daemons.stream()
        .filter(known -> known.set().equals(set))
        .findFirst()
        .orElseGet(() -> new ControlDaemon(program, set, root));
  }

  private boolean serves(ControlDaemon daemon) throws InterruptedException {
    if (!begun.contains(daemon)) {
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
    backoff.reset();
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
    begun.clear();
    current = null;
    plan = MpsPlan.NONE;
    status = new MpsStatus.Silent();
    restoreModes(Set.of());
  }

  private void restoreModes(Set<String> kept) {
    try {
      modes.restore(kept);
    } catch (IOException | NvmlException e) {
      LOG.warn("cannot restore the compute modes: {}", e.toString());
    }
  }
}
