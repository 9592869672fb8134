package dev.tranche.nodeplugin.gpu;

import dev.tranche.nodeplugin.nvml.GpuInfo;
import dev.tranche.nodeplugin.nvml.Nvml;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the GPUs subscribed to NVML's errors. A wait that fails may have lost one GPU, which ends
 * the waits for all others too, so that they are subscribed anew without it. Confined to the thread
 * that calls NVML.
 */
final class ErrorWatch {
  private static final Logger LOG = LoggerFactory.getLogger(ErrorWatch.class);

  /** Failures in a row after which only a restart of NVML may help. */
  static final int FAILURES_MAX = 3;

  private final KnownGpus gpus;
  private final GpuFailures bugs;
  private final Set<String> watched = new TreeSet<>();
  // GPUs whose errors this driver never reports.
  private final Set<String> unsupported = new TreeSet<>();
  // In a row; they outlive a session, so that a restart which does not help is seen.
  private int failures;
  private String why = "";

  ErrorWatch(KnownGpus gpus, GpuFailures bugs) {
    this.gpus = gpus;
    this.bugs = bugs;
  }

  /** Begins a new listing of the GPUs. */
  void startListing() {
    watched.clear();
    unsupported.clear();
  }

  void add(Nvml session, GpuInfo gpu) {
    String uuid = gpu.uuid();
    try {
      (session.watch(gpu.index()) ? watched : unsupported).add(uuid);
    } catch (RuntimeException e) {
      why = bugs.reason(uuid, e);
    }
  }

  /** Subscribes to the GPUs that answer and are not watched. Called after each sample. */
  void retry(Nvml session) {
    List<GpuInfo> blind = answering().filter(gpu -> !watched.contains(gpu.uuid())).toList();
    blind.forEach(gpu -> add(session, gpu));
    if (watched.isEmpty() && !blind.isEmpty()) {
      failures++;
    }
  }

  /** Returns the GPUs that answer and whose errors this driver reports. */
  private Stream<GpuInfo> answering() {
    return gpus.presentGpus()
        .filter(gpu -> gpu.health().answers())
        .map(GpuStatus::info)
        .filter(gpu -> !unsupported.contains(gpu.uuid()));
  }

  boolean anyWatched() {
    return !watched.isEmpty();
  }

  void worked() {
    failures = 0;
  }

  /** Ends all subscriptions after a failed wait. Returns whether it is the first in a row. */
  boolean failed(Nvml session, String reason) {
    failures++;
    why = reason;
    session.unwatchAll();
    watched.clear();
    if (failures == 1) {
      LOG.warn("waiting for GPU errors failed; subscribing to the GPUs again: {}", why);
    }
    return failures == 1;
  }

  boolean restartNeeded() {
    return failures >= FAILURES_MAX;
  }

  /** Returns the GPUs whose errors are not seen now, in alphabetical order. */
  List<String> unwatched() {
    return Stream.concat(unsupported.stream(), unwatchedThoughPresent().stream()).sorted().toList();
  }

  /** Returns the GPUs whose errors this driver never reports, in alphabetical order. */
  List<String> unsupported() {
    return List.copyOf(unsupported);
  }

  private List<String> unwatchedThoughPresent() {
    // After the second failure: a new subscription has not helped.
    return answering()
        .map(GpuInfo::uuid)
        .filter(uuid -> failures > 1 || !watched.contains(uuid))
        .toList();
  }

  Optional<NodeProblem> problem() {
    List<String> blind = unwatchedThoughPresent();
    return NodeProblem.of(
        NodeProblem.Reason.GPU_ERRORS_UNWATCHED,
        blind.size(),
        () ->
            "errors (XIDs) of %s are not detected, only its loss is: %s; the plugin keeps retrying, also by restarting NVML"
                .formatted(String.join(", ", blind), why));
  }
}
