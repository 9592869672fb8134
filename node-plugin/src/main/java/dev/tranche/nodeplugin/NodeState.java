package dev.tranche.nodeplugin;

import dev.tranche.api.node.ConfigStatus;
import dev.tranche.api.node.Holding;
import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.Replicas;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What the node knows of itself. Confined to the event loop. */
final class NodeState {
  private @Nullable Config config;
  private ConfigStatus configStatus = ConfigStatus.getDefaultInstance();
  private @Nullable List<GpuStatus> gpus;
  private String driverAwaited = "";
  private List<Holding> holdings = List.of();
  private boolean holdingsKnown;
  private boolean draining;

  void config(Config now) {
    config = now;
  }

  void configStatus(ConfigStatus now) {
    configStatus = now;
  }

  ConfigStatus configStatus() {
    return configStatus;
  }

  void gpus(List<GpuStatus> now) {
    gpus = now;
  }

  boolean gpusKnown() {
    return gpus != null;
  }

  void driverAwaited(String reason) {
    driverAwaited = reason;
  }

  /** Why this node has nothing to serve; empty: it has, or that is not known yet. */
  Optional<String> idle() {
    if (gpus != null) {
      return gpus.isEmpty()
          ? Optional.of("there is no usable GPU on this node, so there is nothing to advertise")
          : Optional.empty();
    }
    return driverAwaited.isEmpty()
        ? Optional.empty()
        : Optional.of("this node waits for a driver: " + driverAwaited);
  }

  boolean configKnown() {
    return config != null;
  }

  /** Empty until both the GPUs and the config are known. */
  Optional<Replicas> replicas() {
    return gpus == null || config == null
        ? Optional.empty()
        : Optional.of(new Replicas(config, gpus));
  }

  /** Whether that is news. */
  boolean holdings(List<Holding> now) {
    boolean news = !holdingsKnown || !holdings.equals(now);
    holdings = now;
    holdingsKnown = true;
    return news;
  }

  List<Holding> holdings() {
    return holdings;
  }

  boolean holdingsKnown() {
    return holdingsKnown;
  }

  void drain() {
    draining = true;
  }

  boolean draining() {
    return draining;
  }
}
