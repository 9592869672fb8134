package dev.tranche.nodeplugin;

import dev.tranche.nodeplugin.mps.MpsPlan;
import dev.tranche.nodeplugin.mps.MpsStanding;
import dev.tranche.nodeplugin.mps.MpsStatus;
import dev.tranche.nodeplugin.mps.MpsWatch;
import dev.tranche.nodeplugin.mps.StatusFile;
import io.vertx.core.Vertx;

/**
 * Reads what the node's MPS control daemons say, while they are needed. Confined to the event loop.
 */
final class MpsKeeper {
  private static final int CHECK_MS = 1_000;

  private final Vertx vertx;
  private final StatusFile file;
  private final MpsWatch watch;
  private final Runnable checked;
  private MpsStatus last = new MpsStatus.Silent();

  /**
   * @param checked run after each look at them
   */
  MpsKeeper(Vertx vertx, StatusFile file, String node, Runnable checked) {
    this.vertx = vertx;
    this.file = file;
    this.watch = new MpsWatch(node, () -> System.nanoTime() / 1_000_000);
    this.checked = checked;
  }

  void follow() {
    vertx.setPeriodic(CHECK_MS, id -> check());
  }

  private void check() {
    if (watch.standing() instanceof MpsStanding.NotNeeded) {
      last = new MpsStatus.Silent();
      return;
    }
    vertx
        .executeBlocking(() -> file.read(System.currentTimeMillis()), true)
        .onSuccess(
            status -> {
              last = status;
              checked.run();
            });
  }

  /** How the node stands with what it wants now, by the last look. */
  MpsStanding standing(MpsPlan wanted) {
    return watch.update(wanted, last);
  }
}
