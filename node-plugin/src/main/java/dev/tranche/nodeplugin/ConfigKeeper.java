package dev.tranche.nodeplugin;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import dev.tranche.nodeplugin.config.ConfigSource;
import dev.tranche.nodeplugin.config.ConfigSource.Outcome;
import dev.tranche.nodeplugin.config.KeptConfig;
import dev.tranche.nodeplugin.config.Options;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import io.vertx.core.Vertx;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Follows the config that the node's label selects, and its edits. The label's last value is kept
 * on the host, for a start without an extender, and so is the last config that was in use, for a
 * start with a bad one. Confined to the event loop.
 */
final class ConfigKeeper {
  private static final Logger LOG = LoggerFactory.getLogger(ConfigKeeper.class);

  private final Vertx vertx;
  private final ConfigSource source;
  // The keeper of the MPS control daemons reads it every second; empty it would say nothing.
  private final StateKeeper name;
  private final KeptConfig kept;
  private final StateKeeper usedFile;
  private final Consumer<Outcome> changed;
  private String label = "";
  private @Nullable Outcome last;
  private Outcome.@Nullable Usable used;
  private String seen = "";

  ConfigKeeper(
      Vertx vertx,
      ConfigSource source,
      Path stateDir,
      NodeMetrics metrics,
      Consumer<Outcome> changed) {
    this.vertx = vertx;
    this.source = source;
    this.name =
        new StateKeeper(
            vertx,
            stateDir.resolve(Options.CONFIG_NAME_FILE),
            metrics,
            () -> (label + "\n").getBytes(UTF_8));
    this.kept = new KeptConfig(stateDir);
    this.usedFile =
        new StateKeeper(
            vertx,
            stateDir.resolve(KeptConfig.NAME),
            metrics,
            () -> KeptConfig.content(requireNonNull(used)));
    this.changed = changed;
  }

  /** The first config, by the label as last known. Blocks; call it before the event loop runs. */
  Outcome load() {
    readLabel();
    last = source.load(label);
    return last;
  }

  /**
   * What an earlier run used, where the first one is refused or another one, which may not fit the
   * GPUs. Blocks, as {@link #load}.
   */
  Optional<Outcome.Usable> fallback() {
    boolean ofNoFile = last instanceof Outcome.Usable now && now.text().isEmpty();
    return ofNoFile ? Optional.empty() : kept.read(source).filter(before -> !before.equals(last));
  }

  /** The newest config is in use. */
  void used() {
    if (last instanceof Outcome.Usable now && !now.text().isEmpty() && !now.equals(used)) {
      used = now;
      usedFile.save();
    }
  }

  private void readLabel() {
    if (source.named()) {
      name.load(kept -> label = new String(kept, UTF_8).strip());
    }
  }

  /** The label's value now; empty: no label. */
  void label(String now) {
    if (source.named() && !now.equals(label)) {
      label = now;
      name.save();
      check();
    }
  }

  /**
   * A reading of the source.
   *
   * @param seen by what a change is noticed
   * @param outcome empty: nothing has changed
   */
  private record Reading(String seen, Optional<Outcome> outcome) {}

  /** Looks whether the files have changed. */
  void check() {
    String asked = label;
    String before = seen;
    vertx
        .executeBlocking(() -> read(asked, before), true)
        .onSuccess(reading -> apply(asked, reading))
        .onFailure(e -> LOG.warn("cannot read the config: {}", e.toString()));
  }

  // Between changes only file attributes are read.
  private Reading read(String asked, String before) {
    String now = asked + " " + source.state();
    return new Reading(
        now, now.equals(before) ? Optional.empty() : Optional.of(source.load(asked)));
  }

  private void apply(String asked, Reading reading) {
    if (!asked.equals(label)) {
      return;
    }
    seen = reading.seen();
    Outcome outcome = reading.outcome().orElse(last);
    if (outcome != null && !outcome.equals(last)) {
      last = outcome;
      changed.accept(outcome);
    }
  }
}
