package dev.tranche.nodeplugin.mps;

import dev.tranche.nodeplugin.file.AtomicFile;
import java.io.IOException;
import java.nio.file.Files;

/** The file by which daemon pod and plugin pod of a node speak; one writes, one reads. Blocks. */
public final class StatusFile {
  /** Without a new one for so long, the writer is gone; it writes every second. */
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
   * What was last written, if that is not long ago.
   *
   * @param nowMs milliseconds since 1970
   */
  public MpsStatus read(long nowMs) {
    try {
      long ageMs = nowMs - Files.getLastModifiedTime(file.path()).toMillis();
      return Math.abs(ageMs) > AGE_MAX_MS
          ? new MpsStatus.Silent()
          : file.readText().map(MpsStatus::parse).orElseGet(MpsStatus.Silent::new);
    } catch (IOException unreadable) {
      return new MpsStatus.Silent();
    }
  }
}
