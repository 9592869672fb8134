package dev.tranche.nodeplugin.mps;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** The file by which daemon pod and plugin pod of a node speak; one writes, one reads. Blocks. */
public final class StatusFile {
  /** Without a new one for so long, the writer is gone; it writes every second. */
  public static final int AGE_MAX_MS = 10_000;

  private static final int SIZE_MAX_BYTES = 1 << 20;

  private final Path file;

  public StatusFile(MpsRoot root) {
    this.file = root.status();
  }

  void write(MpsStatus status) throws IOException {
    Path fresh = file.resolveSibling(file.getFileName() + ".new");
    Files.writeString(fresh, MpsStatus.text(status));
    Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
  }

  void delete() throws IOException {
    Files.deleteIfExists(file);
  }

  /**
   * What was last written, if that is not long ago.
   *
   * @param nowMs milliseconds since 1970
   */
  public MpsStatus read(long nowMs) {
    try {
      long ageMs = nowMs - Files.getLastModifiedTime(file).toMillis();
      return Math.abs(ageMs) > AGE_MAX_MS || Files.size(file) > SIZE_MAX_BYTES
          ? new MpsStatus.Silent()
          : MpsStatus.parse(Files.readString(file));
    } catch (IOException absent) {
      return new MpsStatus.Silent();
    }
  }
}
