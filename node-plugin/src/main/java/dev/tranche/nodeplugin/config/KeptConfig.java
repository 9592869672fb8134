package dev.tranche.nodeplugin.config;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.tranche.nodeplugin.config.ConfigSource.Outcome;
import dev.tranche.nodeplugin.file.AtomicFile;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The last config in use, kept on the host's disk. A restart that finds a bad config continues with
 * this one. The first line is its name, the rest its text. Blocks.
 */
public final class KeptConfig {
  /** File name in the state folder. */
  public static final String NAME = "config-last";

  private static final Logger LOG = LoggerFactory.getLogger(KeptConfig.class);
  private final AtomicFile file;

  /**
   * @param stateDir need not exist
   */
  public KeptConfig(Path stateDir) {
    this.file = new AtomicFile(stateDir.resolve(NAME));
  }

  /** Returns the file's content for a config. */
  public static byte[] content(Outcome.Usable usable) {
    return (usable.name() + "\n" + usable.text()).getBytes(UTF_8);
  }

  /** Reads the kept config; empty if there is none, or if the current flags refuse it. */
  public Optional<Outcome.Usable> read(ConfigSource source) {
    try {
      return file.readText().flatMap(text -> usable(source, text.split("\n", 2)));
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
