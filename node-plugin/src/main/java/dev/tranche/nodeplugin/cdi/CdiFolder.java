package dev.tranche.nodeplugin.cdi;

import dev.tranche.nodeplugin.file.AtomicFile;
import java.io.IOException;
import java.nio.file.Path;
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

  /**
   * Runtimes read at any time, files that end in .json or .yaml: never one that is half written.
   */
  public void write(List<CdiSpec> specs) throws IOException {
    for (CdiSpec spec : specs) {
      new AtomicFile(folder.resolve(spec.fileName())).write(spec.json());
    }
  }
}
