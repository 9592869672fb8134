package dev.tranche.nodeplugin;

import dev.tranche.nodeplugin.config.ConfigSource.Outcome;
import dev.tranche.nodeplugin.events.EventBuffer;
import dev.tranche.nodeplugin.gpu.SharingPlan;
import dev.tranche.nodeplugin.metrics.NodeMetrics;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Applies configs to the state, and tells which one is in use. Confined to the event loop. */
final class ConfigApplier {
  private static final Logger LOG = LoggerFactory.getLogger(ConfigApplier.class);

  private final PluginState state;
  private final EventBuffer events;
  private final NodeMetrics metrics;
  private final NodePlugin.Host host;
  private String requested = "";
  private String advertisedSummary = "";
  // The newest config cannot even be read, so another one is in use.
  private boolean newestUnreadable;
  // A refusal was reported, so its end must be reported too.
  private boolean refusalReported;

  ConfigApplier(PluginState state, EventBuffer events, NodeMetrics metrics, NodePlugin.Host host) {
    this.state = state;
    this.events = events;
    this.metrics = metrics;
    this.host = host;
  }

  /** Takes another config, or the reason why there is none. */
  void apply(Outcome outcome) {
    switch (outcome) {
      case Outcome.Refused refused -> {
        newestUnreadable = true;
        refused(refused.name(), refused.reason());
      }
      case Outcome.Usable usable -> use(usable);
    }
  }

  private void use(Outcome.Usable usable) {
    usable.warnings().forEach(w -> LOG.warn("config {}: {}", usable.name(), w));
    LOG.info("config {}: {}", usable.name(), usable.config());
    requested = usable.name();
    newestUnreadable = false;
    state.config(usable).ifPresentOrElse(this::planned, () -> state.configError(""));
  }

  /** Applies the plan for these GPUs of the latest config that can be read. */
  void planned(SharingPlan plan) {
    switch (plan) {
      case SharingPlan.DoesNotFit misfit -> refused(requested, misfit.reason());
      case SharingPlan.Fits fits -> {
        fits.warnings().forEach(w -> LOG.warn("config {}: {}", requested, w));
        LOG.info("config {} results in: {}", requested, fits.summary());
        if (!newestUnreadable) {
          host.configUsed();
          state.configError("");
        }
        boolean recovered = refusalReported && !newestUnreadable;
        boolean changed = !advertisedSummary.isEmpty() && !fits.summary().equals(advertisedSummary);
        refusalReported &= newestUnreadable;
        if (changed || recovered) {
          events.node("ConfigUsed", describe(requested) + " is in use: " + fits.summary(), false);
        }
        advertisedSummary = fits.summary();
      }
    }
  }

  private void refused(String name, String reason) {
    refusalReported = true;
    state.configError(reason);
    metrics.count("tranche.node.config.refusals", "Configs that could not be used.");
    events.node(
        "ConfigRefused",
        "%s is refused, %s: %s"
            .formatted(
                describe(name),
                state.configKnown() ? "the previous one stays in use" : "so no GPU is advertised",
                reason),
        true);
  }

  private static String describe(String config) {
    return config.isEmpty() ? "the config" : "config " + config;
  }
}
