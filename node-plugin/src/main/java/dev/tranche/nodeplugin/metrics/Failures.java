package dev.tranche.nodeplugin.metrics;

import dev.tranche.nodeplugin.gpu.GpuFailures;
import dev.tranche.process.meters.PartFailures;

/** Unexpected exceptions that end only the work on one GPU, or one of several tasks. */
public final class Failures extends PartFailures<Failures.Part> implements GpuFailures {
  /** What has failed. */
  public enum Part {
    /** The work on one GPU or MIG device; all others go on. */
    GPU,
    /** One of several tasks, or the work on one assignment or resource; the others go on. */
    TASK
  }

  public Failures(NodeMetrics metrics) {
    super(
        metrics,
        "tranche.node.failures",
        "Unexpected errors that ended the work on one GPU, or one task; the rest went on.",
        Part.class);
  }

  @Override
  public void failed(String gpu, Throwable bug) {
    failed(Part.GPU, "GPU " + gpu, bug);
  }

  /** Runs the work on one GPU. An exception ends only that. */
  public void onGpu(String gpu, Runnable work) {
    run(Part.GPU, "GPU " + gpu, work);
  }

  /** Runs a task. An exception ends only that. */
  public void task(String name, Runnable work) {
    run(Part.TASK, name, work);
  }
}
