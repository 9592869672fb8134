package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.nvml.Nvml;
import dev.tranche.nodeplugin.nvml.NvmlException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The only thread that calls NVML, whose handles are best not shared. It is a platform thread,
 * since NVML's waits would pin a carrier thread.
 */
public final class NvmlThread implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(NvmlThread.class);
  private static final int DRIVER_RETRY_MS = 5_000;
  private static final int STOP_WAIT_MS = 2_000;

  private final Supplier<Nvml> open;
  private final GpuWatch gpus;
  private final int intervalMs;
  private final NvmlWatchdog watchdog;
  private final Listener listener;
  private final Thread thread;
  // Confined to this thread.
  private String driver = "";
  private String complaint = "";
  private WatchState watch = WatchState.NONE;

  /** Called on the NVML thread. */
  public interface Listener {
    /** NVML does not start. Return false to give up, true to try again later. */
    boolean unavailable(NvmlException reason);

    /** NVML has started, maybe with another driver than before. */
    void started(String driverVersion, GpuLinkScores linkScores);

    /**
     * All GPUs have been read; before each regular sample. More of them may be read here.
     *
     * @param indexes of the GPUs that are present, by uuid
     * @throws NvmlException if NVML itself is gone
     */
    default void read(Nvml session, Map<String, Integer> indexes) {}

    /**
     * These are the GPUs now, after a sample, or since NVML has stopped working.
     *
     * @param watch what is wrong beside the health of single GPUs, as of the last sample
     */
    void sampled(List<GpuStatus> gpus, WatchState watch);

    /** A bug has ended this thread, and is logged: nothing is sampled any more. */
    default void crashed() {}
  }

  /**
   * What is wrong with the watch over the GPUs.
   *
   * @param unwatched GPUs whose errors are not seen now, for whatever reason
   * @param withoutErrorReports those of them whose errors this driver never reports
   * @param problems what lasts and should be known to people; at most one for each reason
   */
  public record WatchState(
      List<String> unwatched, List<String> withoutErrorReports, List<NodeProblem> problems) {
    public static final WatchState NONE = new WatchState(List.of(), List.of(), List.of());
  }

  /**
   * @param clockMs any monotonic clock
   */
  public NvmlThread(
      Supplier<Nvml> open, GpuWatch gpus, int intervalMs, LongSupplier clockMs, Listener listener) {
    this.open = open;
    this.gpus = gpus;
    this.intervalMs = intervalMs;
    this.watchdog = new NvmlWatchdog(intervalMs, clockMs);
    this.listener = listener;
    this.thread = Thread.ofPlatform().name("nvml").daemon().unstarted(this::run);
  }

  public void start() {
    thread.start();
  }

  /** Returns why the process should be restarted; empty while it need not. Any thread may ask. */
  public Optional<String> failure() {
    return watchdog.failure();
  }

  private void run() {
    try {
      while (runSession()) {}
    } catch (InterruptedException stopped) {
      // The process ends.
    } catch (RuntimeException | Error bug) {
      LOG.error("cannot read the GPUs any more", bug);
      listener.crashed();
    }
  }

  /** Returns whether to start NVML again. */
  private boolean runSession() throws InterruptedException {
    watchdog.start();
    try (Nvml nvml = open.get()) {
      gpus.open(nvml);
      driver = nvml.driverVersion();
      GpuLinkScores linkScores = gpus.measureLinks();
      watchdog.answered();
      listener.started(driver, linkScores);
      return watch(nvml);
    } catch (NvmlException e) {
      boolean again = gone(e);
      if (again) {
        Thread.sleep(DRIVER_RETRY_MS);
      }
      return again;
    }
  }

  /**
   * Waits for the return of a driver that has worked. If none ever has, the listener may give up.
   */
  private boolean gone(NvmlException e) {
    if (driver.isEmpty()) {
      watchdog.disarm();
      return listener.unavailable(e);
    }
    String why = "NVML is gone: " + e.getMessage();
    if (!why.equals(complaint)) {
      complaint = why;
      LOG.warn("{}", why);
    }
    gpus.closed(why);
    watchdog.gone();
    listener.sampled(gpus.gpus(), watch);
    return true;
  }

  /**
   * Samples until stopped, or until NVML must be restarted.
   *
   * @return false if stopped
   */
  private boolean watch(Nvml nvml) throws InterruptedException {
    complaint = "";
    long nextNs = System.nanoTime();
    while (!Thread.currentThread().isInterrupted()) {
      gpus.sample();
      listener.read(nvml, gpus.presentIndexes());
      reportSample();
      if (gpus.restartNeeded()) {
        if (gpus.gpus().stream().anyMatch(gpu -> gpu.health().healthy())) {
          watchdog.restarting();
        }
        return true;
      }
      nextNs = Math.max(nextNs + intervalMs * 1_000_000L, System.nanoTime());
      awaitErrorsUntil(nextNs);
    }
    return false;
  }

  private void reportSample() {
    watchdog.answered();
    watch = gpus.state();
    listener.sampled(gpus.gpus(), watch);
  }

  private void awaitErrorsUntil(long untilNs) throws InterruptedException {
    long leftMs = (untilNs - System.nanoTime()) / 1_000_000;
    while (leftMs > 0 && !Thread.currentThread().isInterrupted()) {
      if (gpus.awaitError((int) leftMs)) {
        reportSample();
      }
      leftMs = (untilNs - System.nanoTime()) / 1_000_000;
    }
  }

  /** Stops the thread. Waits for its current call, since a native wait cannot be interrupted. */
  @Override
  public void close() {
    // A thread that was never started cannot be joined, for example if the config was refused at
    // once.
    if (thread.getState() == Thread.State.NEW) {
      return;
    }
    thread.interrupt();
    try {
      if (!thread.join(Duration.ofMillis(intervalMs + STOP_WAIT_MS))) {
        LOG.warn("NVML does not return; the process ends without shutting it down");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
