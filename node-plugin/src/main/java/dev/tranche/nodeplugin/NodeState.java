package dev.tranche.nodeplugin;

import dev.tranche.api.node.ConfigStatus;
import dev.tranche.api.node.Holding;
import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.Hardware;
import dev.tranche.nodeplugin.gpu.HeldReplicas;
import dev.tranche.nodeplugin.gpu.NodeReplicas;
import dev.tranche.nodeplugin.gpu.SharingPlan;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What the node knows of itself. Confined to the event loop. */
final class NodeState {
  private final Supplier<Hardware> hardware;
  private final HeldReplicas held = new HeldReplicas();
  private @Nullable Config config;
  private SharingPlan.@Nullable Fits plan;
  private ConfigStatus configStatus = ConfigStatus.getDefaultInstance();
  private @Nullable List<GpuStatus> gpus;
  private String driverAwaited = "";
  private List<Holding> holdings = List.of();
  private boolean holdingsKnown;
  private boolean draining;
  private List<Object> replicasMadeOf = List.of();
  private @Nullable NodeReplicas replicas;

  /**
   * @param hardware asked once GPUs are known
   */
  NodeState(Supplier<Hardware> hardware) {
    this.hardware = hardware;
  }

  /** Uses a config from now on, unless it does not fit these GPUs; then the one before stays. */
  Optional<SharingPlan> config(Config now) {
    if (gpus == null) {
      config = now;
      return Optional.empty();
    }
    return Optional.of(plan(now, gpus));
  }

  private SharingPlan plan(Config now, List<GpuStatus> of) {
    SharingPlan planned =
        hardware
            .get()
            .nodes()
            .missing(now.allocate())
            .<SharingPlan>map(SharingPlan.DoesNotFit::new)
            .orElseGet(() -> SharingPlan.of(now, infos(of)));
    if (planned instanceof SharingPlan.Fits fits) {
      config = now;
      plan = fits;
    } else if (plan == null) {
      config = null;
    }
    return planned;
  }

  private static List<GpuInfo> infos(List<GpuStatus> gpus) {
    return gpus.stream().map(GpuStatus::info).toList();
  }

  void configStatus(ConfigStatus now) {
    configStatus = now;
  }

  ConfigStatus configStatus() {
    return configStatus;
  }

  /** The plan, if these are other GPUs than before. */
  Optional<SharingPlan> gpus(List<GpuStatus> now) {
    boolean same = gpus != null && infos(gpus).equals(infos(now));
    gpus = now;
    return same || config == null ? Optional.empty() : Optional.of(plan(config, now));
  }

  List<GpuStatus> gpus() {
    return gpus == null ? List.of() : gpus;
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

  /** Empty until both the GPUs and a config that fits them are known; the same until news. */
  Optional<NodeReplicas> replicas() {
    if (gpus == null || config == null || plan == null) {
      return Optional.empty();
    }
    List<Object> madeOf = madeOf(config, plan, gpus);
    if (replicas == null || !madeOf.equals(replicasMadeOf)) {
      replicasMadeOf = madeOf;
      replicas = NodeReplicas.of(config, gpus, plan.byUuid(), held.all());
    }
    return Optional.of(replicas);
  }

  private List<Object> madeOf(Config config, SharingPlan plan, List<GpuStatus> gpus) {
    List<Object> parts = new ArrayList<>(List.of(config, plan, held.all()));
    gpus.forEach(gpu -> parts.addAll(List.of(gpu.info(), gpu.health().healthy())));
    return parts;
  }

  /** Replicas that containers hold. */
  HeldReplicas held() {
    return held;
  }

  /** Whether that is news. */
  boolean holdings(List<Holding> now) {
    boolean news = !holdingsKnown || !holdings.equals(now);
    holdings = now;
    holdingsKnown = true;
    if (plan != null) {
      held.update(now, plan.byUuid());
    }
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
