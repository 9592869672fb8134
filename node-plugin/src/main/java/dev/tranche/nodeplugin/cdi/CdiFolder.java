package dev.tranche.nodeplugin.cdi;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;

/**
 * The folder in which container runtimes look for CDI specs. Blocks.
 *
 * <p>What was written stays when the plugin ends: containers restart while it is away.
 */
public final class CdiFolder {
  private final Path folder;

  public CdiFolder(Path folder) {
    this.folder = folder;
  }

  /** Writes each spec as a whole, by rename: runtimes read at any time. */
  public void write(List<CdiSpec> specs) throws IOException {
    Files.createDirectories(folder);
    for (CdiSpec spec : specs) {
      // Runtimes read files that end in .json or .yaml, so this one is not seen yet.
      Path fresh = folder.resolve(spec.fileName() + ".new");
      Files.writeString(fresh, spec.json());
      Files.setPosixFilePermissions(fresh, PosixFilePermissions.fromString("rw-r--r--"));
      Files.move(
          fresh,
          folder.resolve(spec.fileName()),
          StandardCopyOption.REPLACE_EXISTING,
          StandardCopyOption.ATOMIC_MOVE);
    }
  }
}
