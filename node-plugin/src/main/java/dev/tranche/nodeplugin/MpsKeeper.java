package dev.tranche.nodeplugin;

import dev.tranche.nodeplugin.mps.MpsAvailability;
import dev.tranche.nodeplugin.mps.MpsPlan;
import dev.tranche.nodeplugin.mps.MpsStatus;
import dev.tranche.nodeplugin.mps.MpsWatch;
import dev.tranche.nodeplugin.mps.StatusFile;
import io.vertx.core.Vertx;

/**
 * Reads the status of the node's MPS control daemons while they are needed. Confined to the event
 * loop.
 */
final class MpsKeeper {
  private final Vertx vertx;
  private final StatusFile file;
  private final MpsWatch watch;
  private final Runnable checked;
  private MpsStatus last = new MpsStatus.None();

  /**
   * @param checked run after each read of the status
   */
  MpsKeeper(Vertx vertx, StatusFile file, String node, Runnable checked) {
    this.vertx = vertx;
    this.file = file;
    this.watch = new MpsWatch(node, () -> System.nanoTime() / 1_000_000);
    this.checked = checked;
  }

  /** Reads the status, if the daemons are needed. */
  void check() {
    if (watch.availability() instanceof MpsAvailability.NotNeeded) {
      last = new MpsStatus.None();
      return;
    }
    vertx
        .executeBlocking(this::read, true)
        .onSuccess(
            status -> {
              last = status;
              checked.run();
            });
  }

  /** Returns whether daemons serve this plan. Blocks; before the event loop needs this. */
  boolean serving(MpsPlan plan) {
    return read() instanceof MpsStatus.Serving(var lines) && lines.equals(plan.lines());
  }

  private MpsStatus read() {
    return file.read(System.nanoTime() / 1_000_000, System.currentTimeMillis());
  }

  /** Returns the availability of the daemons in the plan, by the last status. */
  MpsAvailability availability(MpsPlan wanted) {
    return watch.update(wanted, last);
  }
}
