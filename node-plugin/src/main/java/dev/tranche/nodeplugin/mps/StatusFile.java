package dev.tranche.nodeplugin.mps;

import dev.tranche.nodeplugin.file.AtomicFile;
import dev.tranche.process.loop.MonotonicClock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.concurrent.TimeUnit;

/** The file in which the daemon pod reports its status to the plugin pod of the node. Blocks. */
public final class StatusFile {
  /** If the file is older than this, its writer is gone; it writes every second. */
  public static final int AGE_MAX_MS = 10_000;

  private final AtomicFile file;
  // Of the file that was read last.
  private String seen = "";
  private long seenAtMs;

  public StatusFile(MpsRoot root) {
    this.file = new AtomicFile(root.status());
  }

  void write(MpsStatus status) throws IOException {
    file.write(MpsStatus.text(status));
  }

  void delete() throws IOException {
    Files.deleteIfExists(file.path());
  }

  /** Returns the last status, if it was written recently. */
  public MpsStatus read() {
    return read(MonotonicClock.ms(), System.currentTimeMillis());
  }

  /**
   * Returns the last status, if it was written recently. The wall clock may jump, so it judges only
   * the first file that is seen; a later one is as old as the time since it appeared.
   *
   * @param clockMs of a monotonic clock
   * @param wallMs milliseconds since 1970
   */
  synchronized MpsStatus read(long clockMs, long wallMs) {
    try {
      BasicFileAttributes now = Files.readAttributes(file.path(), BasicFileAttributes.class);
      String version = now.fileKey() + "@" + now.lastModifiedTime().to(TimeUnit.NANOSECONDS);
      if (!version.equals(seen)) {
        boolean recent = Math.abs(wallMs - now.lastModifiedTime().toMillis()) <= AGE_MAX_MS;
        seenAtMs = seen.isEmpty() && !recent ? clockMs - AGE_MAX_MS - 1 : clockMs;
        seen = version;
      }
      return clockMs - seenAtMs > AGE_MAX_MS
          ? new MpsStatus.None()
          : file.readText().map(MpsStatus::parse).orElseGet(MpsStatus.None::new);
    } catch (IOException unreadable) {
      return new MpsStatus.None();
    }
  }
}
