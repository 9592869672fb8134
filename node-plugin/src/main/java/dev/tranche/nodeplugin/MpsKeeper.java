package dev.tranche.nodeplugin;

import dev.tranche.nodeplugin.mps.MpsAvailability;
import dev.tranche.nodeplugin.mps.MpsPlan;
import dev.tranche.nodeplugin.mps.MpsStatus;
import dev.tranche.nodeplugin.mps.MpsWatch;
import dev.tranche.nodeplugin.mps.StatusFile;
import io.vertx.core.Vertx;

/**
 * Reads what the node's MPS control daemons say, while they are needed. Confined to the event loop.
 */
final class MpsKeeper {
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

  /** Looks at them, if they are needed. */
  void check() {
    if (watch.standing() instanceof MpsAvailability.NotNeeded) {
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

  /** How the node stands with what it wants now, by the last look; looks anew if that is new. */
  MpsAvailability standing(MpsPlan wanted) {
    boolean news = watch.standing() instanceof MpsAvailability.NotNeeded && wanted.needed();
    MpsAvailability now = watch.update(wanted, last);
    if (news) {
      check();
    }
    return now;
  }
}
