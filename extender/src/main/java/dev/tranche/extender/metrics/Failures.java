package dev.tranche.extender.metrics;

import dev.tranche.extender.snapshot.NodeFailures;
import dev.tranche.process.meters.PartFailures;

/** Unexpected exceptions that end only the work on one node, or one of several tasks. */
public final class Failures extends PartFailures<Failures.Part> implements NodeFailures {
  /** What has failed. */
  public enum Part {
    /** The work on one node; all others go on. */
    NODE,
    /** One of the tasks of a timer; the others go on. */
    TASK
  }

  public Failures(ExtenderMetrics metrics) {
    super(
        metrics,
        "tranche.extender.failures",
        "Unexpected errors that ended the work on one node, or one task; the rest went on.",
        Part.class);
  }

  @Override
  public void failed(String node, Throwable bug) {
    failed(Part.NODE, "node " + node, bug);
  }

  /** Runs the work on one node. An exception ends only that. */
  public void onNode(String node, Runnable work) {
    run(Part.NODE, "node " + node, work);
  }

  /** Runs a task. An exception ends only that. */
  public void task(String name, Runnable work) {
    run(Part.TASK, "task " + name, work);
  }
}
