package dev.tranche.nodeplugin.mps;

import dev.tranche.nodeplugin.file.AtomicFile;
import java.io.IOException;
import java.nio.file.Files;

/** The file in which the daemon pod reports its status to the plugin pod of the node. Blocks. */
public final class StatusFile {
  /** If the file is older than this, its writer is gone; it writes every second. */
  public static final int AGE_MAX_MS = 10_000;

  private final AtomicFile file;

  public StatusFile(MpsRoot root) {
    this.file = new AtomicFile(root.status());
  }

  void write(MpsStatus status) throws IOException {
    file.write(MpsStatus.text(status));
  }

  void delete() throws IOException {
    Files.deleteIfExists(file.path());
  }

  /**
   * Returns the last status, if it was written recently.
   *
   * @param nowMs milliseconds since 1970
   */
  public MpsStatus read(long nowMs) {
    try {
      long ageMs = nowMs - Files.getLastModifiedTime(file.path()).toMillis();
      return Math.abs(ageMs) > AGE_MAX_MS
          ? new MpsStatus.None()
          : file.readText().map(MpsStatus::parse).orElseGet(MpsStatus.None::new);
    } catch (IOException unreadable) {
      return new MpsStatus.None();
    }
  }
}
