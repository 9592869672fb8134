package dev.tranche.nodeplugin.mps;

import dev.tranche.nodeplugin.file.AtomicFile;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import dev.tranche.nodeplugin.nvml.AdminNvml;
import dev.tranche.nodeplugin.nvml.NvmlException;
import dev.tranche.process.loop.MonotonicClock;
import dev.tranche.process.ops.Probe;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs the control daemons that the node's plugin has planned. The plugin writes its plan to a file
 * on the host, so that this process needs no permission and no connection. Blocks; its thread is
 * the one that calls NVML.
 */
final class MpsControl {
  private static final Logger LOG = LoggerFactory.getLogger(MpsControl.class);
  private static final int STEP_MS = 1_000;
  private static final int DRIVER_RETRY_MS = 5_000;
  private static final MpsStatus NO_PLAN =
      new MpsStatus.Failing(
          "the node plugin of this node has not said yet which GPUs are shared by MPS");

  private final AtomicFile planFile;
  private final Supplier<AdminNvml> open;
  private final StatusFile statusFile;
  private final MpsRoot root;
  private final String program;
  private final NodeMetrics metrics;
  private @Nullable MpsPlan plan;
  private volatile MpsStatus status = new MpsStatus.None();
  private final CountDownLatch stopping = new CountDownLatch(1);
  private final CountDownLatch ended = new CountDownLatch(1);

  /**
   * @param planFile written by the plugin
   * @param program nvidia-cuda-mps-control
   */
  MpsControl(
      Path planFile, Supplier<AdminNvml> open, MpsRoot root, String program, NodeMetrics metrics) {
    this.planFile = new AtomicFile(planFile);
    this.open = open;
    this.root = root;
    this.statusFile = new StatusFile(root);
    this.program = program;
    this.metrics = metrics;
  }

  /** Runs until {@link #stop}, and ends all daemons before it returns. */
  void run() throws InterruptedException {
    try {
      while (stopping.getCount() > 0) {
        runSession();
      }
      deleteStatus();
    } finally {
      ended.countDown();
    }
  }

  private void runSession() throws InterruptedException {
    try (AdminNvml nvml = open.get()) {
      LOG.info("NVML of driver {}", nvml.driverVersion());
      runSession(nvml);
    } catch (NvmlException e) {
      report(new MpsStatus.Failing(e.getMessage()));
      Supervisor.countFailure(metrics);
      LOG.error("{}", e.getMessage());
      stopping.await(DRIVER_RETRY_MS, TimeUnit.MILLISECONDS);
    }
  }

  private void runSession(AdminNvml nvml) throws InterruptedException {
    var supervisor = new Supervisor(program, root, nvml, MonotonicClock::ms, metrics);
    try {
      while (stopping.getCount() > 0) {
        // While daemons serve, NVML may fail: to open it anew would end them, and their clients.
        if (!serving()) {
          nvml.count();
        }
        readPlan();
        report(plan == null ? NO_PLAN : supervisor.step(plan));
        stopping.await(STEP_MS, TimeUnit.MILLISECONDS);
      }
    } finally {
      supervisor.stop();
    }
  }

  private void readPlan() {
    try {
      Optional<String> text = planFile.readText();
      if (text.isPresent()) {
        plan = MpsPlan.parse(text.get());
      }
    } catch (IOException e) {
      LOG.warn("cannot read the plugin's plan: {}", e.toString());
    }
  }

  private void report(MpsStatus now) {
    status = now;
    try {
      statusFile.write(now);
    } catch (IOException e) {
      LOG.error("cannot write the daemons' status for the plugin: {}", e.toString());
    }
  }

  private void deleteStatus() {
    status = new MpsStatus.None();
    try {
      statusFile.delete();
    } catch (IOException e) {
      LOG.warn("keeping the last status: {}", e.toString());
    }
  }

  void stop() {
    stopping.countDown();
  }

  /**
   * Waits for {@link #run} to be over.
   *
   * @return whether it is
   */
  boolean awaitEnd(int limitMs) throws InterruptedException {
    return ended.await(limitMs, TimeUnit.MILLISECONDS);
  }

  /** May be called by any thread. */
  Probe readiness() {
    return switch (status) {
      case MpsStatus.Serving serving when serving.lines().isEmpty() ->
          new Probe(true, "the config shares nothing by MPS, so there is no daemon to run");
      case MpsStatus.Serving ignored -> Probe.ALIVE;
      case MpsStatus.Failing failing -> new Probe(false, failing.reason());
      case MpsStatus.None ignored ->
          new Probe(false, "the MPS control daemons have not started yet");
    };
  }

  boolean serving() {
    return status instanceof MpsStatus.Serving;
  }
}
