package dev.tranche.nodeplugin;

import dev.tranche.nodeplugin.file.AtomicFile;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Path;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps a file in the state folder up to date with memory, for a restart. Writes one version at a
 * time, and then only the latest. Confined to the event loop.
 */
final class StateKeeper {
  private static final Logger LOG = LoggerFactory.getLogger(StateKeeper.class);

  /** Takes the content that was kept. */
  interface Reader {
    void accept(byte[] content) throws IOException;
  }

  private final Vertx vertx;
  private final AtomicFile file;
  private final NodeMetrics metrics;
  private final Supplier<byte[]> content;
  private boolean writing;
  private boolean stale;

  /**
   * @param content returns what to keep now
   */
  StateKeeper(Vertx vertx, Path file, NodeMetrics metrics, Supplier<byte[]> content) {
    this.vertx = vertx;
    this.file = new AtomicFile(file);
    this.metrics = metrics;
    this.content = content;
  }

  /** Reads what an earlier run has kept. Blocks; call it before the event loop needs it. */
  void load(Reader reader) {
    try {
      var kept = file.read();
      if (kept.isPresent()) {
        reader.accept(kept.get());
      }
    } catch (IOException e) {
      failed("read what an earlier run has kept", e);
    }
  }

  /** Saves the content, which may have changed. */
  void save() {
    if (writing) {
      stale = true;
      return;
    }
    writing = true;
    stale = false;
    byte[] now = content.get();
    vertx
        .executeBlocking(
            () -> {
              file.write(now);
              return true;
            })
        .onFailure(e -> failed("keep this for a restart", e))
        .onComplete(done -> written());
  }

  private void written() {
    writing = false;
    if (stale) {
      save();
    }
  }

  private void failed(String what, Throwable e) {
    metrics.count(
        "tranche.node.state.file.errors",
        "State files that could not be read or written.",
        "file",
        file.path().getFileName().toString());
    LOG.warn("{}: cannot {}: {}", file.path(), what, e.toString());
  }
}
