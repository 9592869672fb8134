package dev.tranche.e2e.verify;

import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Calls NVML function by function, and reports the answers. */
public final class NvmlChecks {
  private static final int LIMIT_S = 60;

  private NvmlChecks() {}

  /** Checks the driver that is installed below this root. */
  public static void run(Path driverRoot, Report report) throws InterruptedException {
    run(new VerifyOptions(Optional.empty(), driverRoot, 0, false), report, LIMIT_S);
  }

  /** Returns the answers for later checks; empty if there is no GPU for them. */
  static Optional<NvmlProbe> run(VerifyOptions options, Report report) throws InterruptedException {
    return run(options, report, LIMIT_S);
  }

  // Uses a separate thread, because a thread that waits in NVML cannot be interrupted.
  static Optional<NvmlProbe> run(VerifyOptions options, Report report, int limitS)
      throws InterruptedException {
    FutureTask<NvmlProbe> task = new FutureTask<>(() -> NvmlProbe.run(options));
    Thread.ofPlatform().daemon().name("nvml").start(task);
    try {
      NvmlProbe probe = task.get(limitS, TimeUnit.SECONDS);
      probe.checks().forEach(report::add);
      if (probe.count() > 0) {
        return Optional.of(probe);
      }
      boolean started = !probe.value("nvmlInit_v2").isEmpty();
      failed(
          report,
          "GPUs",
          (started ? "NVML finds no GPU" : "NVML does not start")
              + ": check that the nvidia kernel module is loaded and nvidia-smi lists a GPU");
    } catch (TimeoutException e) {
      failed(
          report,
          "all of them",
          "a function does not return within " + limitS + " s; look at dmesg");
    } catch (ExecutionException e) {
      boolean absent = e.getCause() instanceof UnsatisfiedLinkError;
      failed(
          report,
          absent ? "library" : "all of them",
          absent
              ? NvmlProbe.LIBRARY
                  + " cannot be loaded: install NVIDIA's driver, or name the library with --nvml"
              : String.valueOf(e.getCause()));
    }
    return Optional.empty();
  }

  private static void failed(Report report, String name, String sentence) {
    report.add(NvmlProbe.AREA, name, CheckStatus.FAILED, sentence);
  }
}
