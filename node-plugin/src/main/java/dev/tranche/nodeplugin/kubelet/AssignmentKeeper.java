package dev.tranche.nodeplugin.kubelet;

import io.vertx.core.Vertx;
import java.io.IOException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Keeps the file of assignments up with those in memory, the latest only. */
public final class AssignmentKeeper {
  private static final Logger LOG = LoggerFactory.getLogger(AssignmentKeeper.class);

  private final Vertx vertx;
  private final AssignmentFile file;
  private final Assignments assignments;
  private boolean writing;
  private boolean stale;

  public AssignmentKeeper(Vertx vertx, AssignmentFile file, Assignments assignments) {
    this.vertx = vertx;
    this.file = file;
    this.assignments = assignments;
  }

  /** Reads what an earlier run has kept. Blocks; call it before the event loop needs them. */
  public void load() {
    try {
      long nowMs = System.nanoTime() / 1_000_000;
      file.read(System.currentTimeMillis()).forEach(a -> assignments.receive(a, nowMs));
    } catch (IOException e) {
      LOG.warn(
          "cannot read the saved assignments, the extender will resend them: {}", e.toString());
    }
  }

  /** The assignments have changed. */
  public void save() {
    if (writing) {
      stale = true;
      return;
    }
    writing = true;
    stale = false;
    var remaining = assignments.remaining(System.nanoTime() / 1_000_000);
    vertx
        .executeBlocking(
            () -> {
              file.write(remaining, System.currentTimeMillis());
              return true;
            },
            true)
        .onFailure(e -> LOG.warn("cannot save assignments for a restart: {}", e.toString()))
        .onComplete(done -> written());
  }

  private void written() {
    writing = false;
    if (stale) {
      save();
    }
  }
}
