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
 * The last config in use, on the host's disk: a restart that meets a bad one goes on with it. Its
 * name is the first line, its text the rest. Blocks.
 */
public final class KeptConfig {
  /** In the state folder. */
  public static final String NAME = "config-last";

  private static final Logger LOG = LoggerFactory.getLogger(KeptConfig.class);
  private final AtomicFile file;

  /**
   * @param stateDir need not be there
   */
  public KeptConfig(Path stateDir) {
    this.file = new AtomicFile(stateDir.resolve(NAME));
  }

  /** What the file has of one. */
  public static byte[] content(Outcome.Usable usable) {
    return (usable.name() + "\n" + usable.text()).getBytes(UTF_8);
  }

  /** Empty if there is none, or if the flags of now refuse it. */
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
