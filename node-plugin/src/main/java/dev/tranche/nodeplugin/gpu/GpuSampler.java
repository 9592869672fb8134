package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.health.Fault;
import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.health.HealthOptions;
import dev.tranche.nodeplugin.nvml.GpuEvent;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.GpuReading;
import dev.tranche.nodeplugin.nvml.Mig;
import dev.tranche.nodeplugin.nvml.Nvml;
import dev.tranche.nodeplugin.nvml.NvmlException;
import dev.tranche.nodeplugin.usage.ContainerUse;
import dev.tranche.nodeplugin.usage.UsageReader;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.LongSupplier;

/** Samples one GPU after the other. Confined to the thread that calls NVML. */
final class GpuSampler {
  /**
   * Failed samples in a row after which the last reading is dropped; a single one may fail by
   * chance.
   */
  static final int FAILED_SAMPLES_MAX = 3;

  private final HealthOptions options;
  private final UsageReader usage;
  private final LongSupplier clockMs;
  private final GpuFailures failures;
  private final Map<String, Long> eccErrors = new HashMap<>();
  // By uuid: failed samples in a row.
  private final Map<String, Integer> failedSamples = new HashMap<>();
  // By uuid: why the load of a GPU that answers cannot be read.
  private final Map<String, String> unreadable = new TreeMap<>();

  GpuSampler(HealthOptions options, UsageReader usage, LongSupplier clockMs, GpuFailures failures) {
    this.options = options;
    this.usage = usage;
    this.clockMs = clockMs;
    this.failures = failures;
  }

  /** Forgets all other GPUs. */
  void retain(Set<String> known, Set<String> present) {
    eccErrors.keySet().retainAll(known);
    failedSamples.keySet().retainAll(present);
    unreadable.keySet().retainAll(present);
  }

  /** Returns the GPUs that answer, but not with their load. */
  Optional<NodeProblem> problem() {
    return NodeProblem.of(
        NodeProblem.Reason.GPU_LOAD_UNREADABLE,
        unreadable.size(),
        () ->
            "the load of %s cannot be read, so placement there uses only grants: %s"
                .formatted(
                    String.join(", ", unreadable.keySet()), unreadable.values().iterator().next()));
  }

  /**
   * Takes a sample and returns the new status of the GPU.
   *
   * @throws NvmlException if NVML itself is gone
   */
  GpuStatus sample(Nvml session, GpuStatus gpu) {
    long nowMs = clockMs.getAsLong();
    try {
      GpuReading reading = read(session, gpu.info());
      failedSamples.remove(gpu.info().uuid());
      unreadable.remove(gpu.info().uuid());
      // Before the errors are counted: it may fail, and they would then count as known.
      List<ContainerUse> uses = uses(session, gpu.info(), reading);
      Load load = Load.next(gpu.load(), reading, nowMs);
      Health health = gpu.health().afterAnswer(nowMs, options.quietMs());
      return new GpuStatus(
          gpu.info(),
          moreErrors(gpu, reading)
              ? health.afterFault(Fault.ofMemory(reading.eccUncorrected()), nowMs)
              : health,
          load,
          uses);
    } catch (RuntimeException e) {
      String why = failures.reason(gpu.info().uuid(), e);
      if (e instanceof NvmlException nvml && nvml.lost()) {
        unreadable.remove(gpu.info().uuid());
        return gpu.asLost(why);
      }
      return afterFailedSample(session, gpu, nowMs, why);
    }
  }

  private static GpuReading read(Nvml session, GpuInfo gpu) {
    return gpu.migDevice()
        .map(device -> session.readMig(gpu.index(), device.index()))
        .orElseGet(() -> session.read(gpu.index()));
  }

  // With MIG on, the MIG devices report use: the GPU's own list would count each container twice.
  private List<ContainerUse> uses(Nvml session, GpuInfo gpu, GpuReading reading) {
    return switch (gpu.mig()) {
      case Mig.Off ignored -> usage.of(session.processes(gpu.index()), reading);
      case Mig.On ignored -> List.of();
      case Mig.Device device ->
          usage.of(session.migProcesses(gpu.index(), device.index()), reading);
    };
  }

  private GpuStatus afterFailedSample(Nvml session, GpuStatus gpu, long nowMs, String why) {
    int failed = failedSamples.merge(gpu.info().uuid(), 1, Integer::sum);
    if (failed < FAILED_SAMPLES_MAX) {
      // The last reading has its own time.
      return gpu;
    }
    boolean answers = answers(session, gpu.info());
    if (answers) {
      unreadable.put(gpu.info().uuid(), why);
    } else {
      unreadable.remove(gpu.info().uuid());
    }
    // An answer ends a loss, as a reading would: else a new driver would leave it lost for good.
    Health health =
        answers
            ? gpu.health().afterAnswer(nowMs, options.quietMs())
            : gpu.health().afterFailedProbe(why);
    return new GpuStatus(gpu.info(), health, null);
  }

  /** Returns whether the GPU or MIG device still answers with its uuid. */
  static boolean answers(Nvml session, GpuInfo gpu) {
    try {
      GpuInfo now = session.info(gpu.index());
      return gpu.migDevice().isEmpty()
          ? now.uuid().equals(gpu.uuid())
          : session.migDevices(now, why -> {}).stream()
              .anyMatch(device -> device.uuid().equals(gpu.uuid()));
    } catch (RuntimeException e) {
      NvmlException.rethrowIfDriverGone(e);
      return false;
    }
  }

  private boolean moreErrors(GpuStatus gpu, GpuReading reading) {
    if (reading.eccUncorrected() == GpuReading.UNKNOWN) {
      return false;
    }
    Long before = eccErrors.put(gpu.info().uuid(), reading.eccUncorrected());
    return before != null
        && reading.eccUncorrected() > before
        && options.xids().unhealthy(GpuEvent.DOUBLE_BIT_ECC);
  }
}
