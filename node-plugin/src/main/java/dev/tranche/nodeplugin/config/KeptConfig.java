package dev.tranche.nodeplugin.config;

import dev.tranche.nodeplugin.config.ConfigSource.Outcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The last config in use, on the host's disk: a restart that meets a bad one goes on with it. Its
 * name is the first line, its text the rest. Blocks.
 */
public final class KeptConfig {
  private static final Logger LOG = LoggerFactory.getLogger(KeptConfig.class);
  private static final String NAME = "config-last";

  private final Path folder;

  /**
   * @param stateDir need not be there
   */
  public KeptConfig(Path stateDir) {
    this.folder = stateDir;
  }

  /** Replaces it as a whole. */
  public Path write(Outcome.Usable usable) throws IOException {
    Files.createDirectories(folder);
    Path fresh = folder.resolve(NAME + ".new");
    Files.writeString(fresh, usable.name() + "\n" + usable.text());
    return Files.move(fresh, folder.resolve(NAME), StandardCopyOption.ATOMIC_MOVE);
  }

  /** Empty if there is none, or if the flags of now refuse it. */
  public Optional<Outcome.Usable> read(ConfigSource source) {
    try {
      Path file = folder.resolve(NAME);
      return Files.exists(file)
          ? usable(source, Files.readString(file).split("\n", 2))
          : Optional.empty();
    } catch (IOException e) {
      LOG.warn("cannot read the last config that was in use: {}", e.toString());
      return Optional.empty();
    }
  }

  private static Optional<Outcome.Usable> usable(ConfigSource source, String[] parts) {
    return parts.length == 2 && source.parse(parts[0], parts[1]) instanceof Outcome.Usable usable
        ? Optional.of(usable)
        : Optional.empty();
  }
}
