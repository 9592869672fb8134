package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.nvml.Nvml;
import dev.tranche.nodeplugin.nvml.NvmlException;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The platform thread that alone talks to NVML: its waits pin a carrier, and NVML's handles are
 * best not shared.
 */
public final class NvmlThread implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(NvmlThread.class);
  private static final int DRIVER_RETRY_MS = 5_000;
  private static final int STOP_WAIT_MS = 2_000;

  private final Supplier<Nvml> open;
  private final GpuWatch gpus;
  private final int intervalMs;
  private final Listener listener;
  private final Thread thread;
  // Of this thread.
  private String driver = "";
  private String complaint = "";

  /** Called on this thread. */
  public interface Listener {
    /** NVML is about to be started, which may take for ever. */
    default void starting() {}

    /** NVML does not start. Return false to give up, true to try again later. */
    boolean unavailable(NvmlException reason);

    void started(String driverVersion);

    /** How near the GPUs are to each other; once for each start, before the first sample. */
    default void linked(GpuLinkScores closeness) {}

    /** Of which GPUs NVML tells no errors; once for each start. */
    default void unwatched(List<String> uuids) {}

    void sampled(List<GpuStatus> gpus);

    /** NVML has worked and does no more: nothing can be read until it is started anew. */
    default void gone(List<GpuStatus> gpus) {
      sampled(gpus);
    }

    /** A bug has ended this thread, and is logged: nothing is sampled any more. */
    default void broken() {}
  }

  public NvmlThread(Supplier<Nvml> open, GpuWatch gpus, int intervalMs, Listener listener) {
    this.open = open;
    this.gpus = gpus;
    this.intervalMs = intervalMs;
    this.listener = listener;
    this.thread = Thread.ofPlatform().name("nvml").daemon().unstarted(this::runOrBreak);
  }

  public void start() {
    thread.start();
  }

  private void runOrBreak() {
    try {
      run();
    } catch (RuntimeException | Error bug) {
      LOG.error("cannot read the GPUs any more", bug);
      listener.broken();
    }
  }

  private void run() {
    boolean again = true;
    while (again) {
      listener.starting();
      try (Nvml nvml = open.get()) {
        gpus.open(nvml);
        tell(nvml.driverVersion());
        listener.linked(gpus.closeness());
        listener.unwatched(gpus.unwatched());
        again = watch();
      } catch (NvmlException e) {
        again = gone(e) && pause();
      } catch (InterruptedException stopped) {
        again = false;
      }
    }
  }

  /** NVML is started again and again while a GPU is missing; only another driver is news. */
  private void tell(String version) {
    if (!version.equals(driver)) {
      driver = version;
      listener.started(version);
    }
  }

  /** A driver that is there no more is waited for; only one that never was may end us. */
  private boolean gone(NvmlException e) {
    if (driver.isEmpty()) {
      return listener.unavailable(e);
    }
    String why = "NVML is gone: " + e.getMessage();
    if (!why.equals(complaint)) {
      complaint = why;
      LOG.warn("{}", why);
    }
    gpus.closed(why);
    listener.gone(gpus.gpus());
    return true;
  }

  private static boolean pause() {
    try {
      Thread.sleep(DRIVER_RETRY_MS);
      return true;
    } catch (InterruptedException stopped) {
      return false;
    }
  }

  /**
   * Until stopped, or until NVML is to be started anew.
   *
   * @return false: stopped
   */
  private boolean watch() throws InterruptedException {
    complaint = "";
    long nextNs = System.nanoTime();
    while (!Thread.currentThread().isInterrupted()) {
      gpus.sample();
      listener.sampled(gpus.gpus());
      if (gpus.reopenDue()) {
        return true;
      }
      nextNs = Math.max(nextNs + intervalMs * 1_000_000L, System.nanoTime());
      awaitErrorsUntil(nextNs);
    }
    return false;
  }

  private void awaitErrorsUntil(long untilNs) throws InterruptedException {
    long leftMs = (untilNs - System.nanoTime()) / 1_000_000;
    while (leftMs > 0 && !Thread.currentThread().isInterrupted()) {
      if (gpus.awaitError((int) leftMs)) {
        listener.sampled(gpus.gpus());
      }
      leftMs = (untilNs - System.nanoTime()) / 1_000_000;
    }
  }

  /** Waits for the wait in progress to end; a native wait cannot be interrupted. */
  @Override
  public void close() {
    // One that was never started cannot be joined, as where the config is refused at once.
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
