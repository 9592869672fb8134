package dev.tranche.nodeplugin;

import dev.tranche.nodeplugin.gpu.HeldReplicas;
import io.vertx.core.Vertx;
import java.io.IOException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Keeps the file of held replicas up with those in memory, the latest only. */
final class HeldKeeper {
  private static final Logger LOG = LoggerFactory.getLogger(HeldKeeper.class);

  private final Vertx vertx;
  private final HeldFile file;
  private final HeldReplicas held;
  private boolean writing;
  private boolean stale;

  HeldKeeper(Vertx vertx, HeldFile file, HeldReplicas held) {
    this.vertx = vertx;
    this.file = file;
    this.held = held;
  }

  /** Reads what an earlier run has kept. Blocks; call it before the event loop needs it. */
  void load() {
    try {
      held.restore(file.read());
    } catch (IOException e) {
      LOG.warn(
          "cannot read how GPUs were shared before; held replicas count as of the config in use: {}",
          e.toString());
    }
  }

  /** What is held has changed. */
  void save() {
    if (writing) {
      stale = true;
      return;
    }
    writing = true;
    stale = false;
    var now = held.all();
    vertx
        .executeBlocking(() -> file.write(now), true)
        .onFailure(e -> LOG.warn("cannot save held replicas for a restart: {}", e.toString()))
        .onComplete(done -> written());
  }

  private void written() {
    writing = false;
    if (stale) {
      save();
    }
  }
}
