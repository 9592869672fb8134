package dev.tranche.nodeplugin;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import dev.tranche.nodeplugin.config.ConfigSource;
import dev.tranche.nodeplugin.config.ConfigSource.Outcome;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import io.vertx.core.Vertx;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Follows the config that the node's label selects, and changes of its file. The label's last value
 * is kept on the host, for a start without an extender. The last config that was in use is kept
 * too, for a start with a bad one. Confined to the event loop.
 */
final class ConfigKeeper {
  static final String USED_FILE = "config-last";
  private static final Logger LOG = LoggerFactory.getLogger(ConfigKeeper.class);

  private final Vertx vertx;
  private final ConfigSource source;
  private final StateKeeper labelFile;
  private final StateKeeper usedFile;
  private final Consumer<Outcome> changed;
  private String label = "";
  private @Nullable Outcome latest;
  private Outcome.@Nullable Usable used;

  ConfigKeeper(
      Vertx vertx,
      ConfigSource source,
      Path stateDir,
      NodeMetrics metrics,
      Consumer<Outcome> changed) {
    this.vertx = vertx;
    this.source = source;
    this.labelFile =
        new StateKeeper(
            vertx, stateDir.resolve("config-name"), metrics, () -> (label + "\n").getBytes(UTF_8));
    this.usedFile =
        new StateKeeper(
            vertx, stateDir.resolve(USED_FILE), metrics, () -> requireNonNull(used).kept());
    this.changed = changed;
  }

  /**
   * Returns the first config, by the last known label. Blocks; call it before the event loop runs.
   */
  Outcome load() {
    if (source.selectsByLabel()) {
      labelFile.load(kept -> label = new String(kept, UTF_8).strip());
    }
    latest = source.load(label, null);
    return latest;
  }

  /**
   * Returns the config of an earlier run, if the first one is refused or is another one. The first
   * one may not fit the GPUs. Blocks, as {@link #load}.
   */
  Optional<Outcome.Usable> fallback() {
    boolean ofNoFile = latest instanceof Outcome.Usable now && now.text().isEmpty();
    if (!ofNoFile) {
      usedFile.load(kept -> used = source.earlier(kept).orElse(null));
    }
    return Optional.ofNullable(used).filter(before -> !before.equals(latest));
  }

  /** Records that the newest config is in use. */
  void recordUsed() {
    if (latest instanceof Outcome.Usable now && !now.text().isEmpty() && !now.equals(used)) {
      used = now;
      usedFile.save();
    }
  }

  /** Sets the label's value; empty for no label. */
  void label(String now) {
    if (source.selectsByLabel() && !now.equals(label)) {
      label = now;
      labelFile.save();
      check();
    }
  }

  /** Checks whether the files have changed. */
  void check() {
    String requestedLabel = label;
    Outcome before = latest;
    vertx
        .executeBlocking(() -> source.load(requestedLabel, before))
        .onSuccess(now -> apply(requestedLabel, now))
        .onFailure(e -> LOG.warn("cannot read the config: {}", e.toString()));
  }

  private void apply(String requestedLabel, Outcome now) {
    if (requestedLabel.equals(label) && !now.equals(latest)) {
      latest = now;
      changed.accept(now);
    }
  }
}
