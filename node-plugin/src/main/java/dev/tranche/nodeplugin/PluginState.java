package dev.tranche.nodeplugin;

import dev.tranche.api.node.ConfigStatus;
import dev.tranche.api.node.Holding;
import dev.tranche.nodeplugin.config.Config;
import dev.tranche.nodeplugin.config.ConfigSource.Outcome;
import dev.tranche.nodeplugin.config.Sharing.SharingStrategy;
import dev.tranche.nodeplugin.gpu.ConfigIndexes;
import dev.tranche.nodeplugin.gpu.GpuSharing;
import dev.tranche.nodeplugin.gpu.GpuStatus;
import dev.tranche.nodeplugin.gpu.HeldReplicas;
import dev.tranche.nodeplugin.gpu.NodeProblem;
import dev.tranche.nodeplugin.gpu.NodeReplicas;
import dev.tranche.nodeplugin.gpu.SharingPlan;
import dev.tranche.nodeplugin.health.Health;
import dev.tranche.nodeplugin.kubelet.ExpectedLimits;
import dev.tranche.nodeplugin.kubelet.Hardware;
import dev.tranche.nodeplugin.limit.ContainerLimit;
import dev.tranche.nodeplugin.limit.ExpectedLimit;
import dev.tranche.nodeplugin.limit.NodeLimits;
import dev.tranche.nodeplugin.mps.MpsAvailability;
import dev.tranche.nodeplugin.mps.MpsPlan;
import dev.tranche.nodeplugin.nvml.GpuInfo;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The state of the node that the plugin works with. Confined to the event loop. */
final class PluginState {
  private final Supplier<Hardware> hardware;
  private final HeldReplicas held = new HeldReplicas();
  private final ConfigIndexes indexes = new ConfigIndexes();
  // The config of an earlier run, which is the first one that this run was given.
  private Outcome.@Nullable Usable earlierRunConfig;
  // The latest config; it may not fit the current GPUs and fit later ones.
  private Outcome.@Nullable Usable wanted;
  private Outcome.@Nullable Usable config;
  private SharingPlan.@Nullable Fits plan;
  private String configError = "";
  private @Nullable List<GpuStatus> gpus;
  private String driverAwaited = "";
  private @Nullable List<Holding> holdings;
  private MpsAvailability mps = new MpsAvailability.NotNeeded();
  private List<Object> replicasInputs = List.of();
  private @Nullable NodeReplicas replicas;

  /**
   * @param hardware read at each use, since the driver may be replaced
   */
  PluginState(Supplier<Hardware> hardware) {
    this.hardware = hardware;
  }

  /** Uses a config from now on, unless it does not fit these GPUs; then the previous one stays. */
  Optional<SharingPlan> config(Outcome.Usable now) {
    wanted = now;
    if (gpus == null) {
      // Only the first config can have been in use; those between it and the newest never were.
      earlierRunConfig = earlierRunConfig == null ? config : earlierRunConfig;
      config = now;
      return Optional.empty();
    }
    return Optional.of(plan(now, gpus));
  }

  private SharingPlan plan(Outcome.Usable now, List<GpuStatus> of) {
    SharingPlan planned = planFor(now, of);
    if (planned instanceof SharingPlan.Fits fits) {
      config = now;
      plan = fits;
    } else if (plan == null) {
      plan =
          earlierRunConfig != null && planFor(earlierRunConfig, of) instanceof SharingPlan.Fits old
              ? old
              : null;
      config = plan == null ? null : earlierRunConfig;
      // A config in use stays, although an IMEX channel that it requires has vanished.
    } else if (config != null
        && SharingPlan.of(config.config(), indexes.apply(of)) instanceof SharingPlan.Fits old) {
      plan = old;
    }
    return planned;
  }

  private SharingPlan planFor(Outcome.Usable usable, List<GpuStatus> of) {
    Config by = usable.config();
    return hardware
        .get()
        .nodes()
        .missing(by.allocate())
        .<SharingPlan>map(SharingPlan.DoesNotFit::new)
        .orElseGet(() -> SharingPlan.of(by, indexes.apply(of)));
  }

  private static List<GpuInfo> infos(List<GpuStatus> gpus) {
    return gpus.stream().map(GpuStatus::info).toList();
  }

  /**
   * Sets why the latest config is not in use.
   *
   * @param now empty if it is in use
   */
  void configError(String now) {
    configError = now;
  }

  /** Returns the status. Its name is that of the config in use, even if a newer one was refused. */
  ConfigStatus configStatus() {
    return ConfigStatus.newBuilder()
        .setName(config == null ? "" : config.name())
        .setError(configError)
        .build();
  }

  /** Sets the GPUs. Returns the plan of the latest config, if these are other GPUs than before. */
  Optional<SharingPlan> gpus(List<GpuStatus> now) {
    boolean same = gpus != null && infos(gpus).equals(infos(now));
    gpus = now;
    return same || wanted == null ? Optional.empty() : Optional.of(plan(wanted, now));
  }

  List<GpuStatus> gpus() {
    return gpus == null ? List.of() : gpus;
  }

  /**
   * Returns the GPUs as advertised. A GPU is not healthy if it has lost its MPS control daemon, or
   * if its shares cannot have the memory limit that they must have.
   */
  List<GpuStatus> advertisedGpus() {
    return gpus().stream().map(this::asAdvertised).toList();
  }

  private GpuStatus asAdvertised(GpuStatus gpu) {
    return obstacle(gpu.info())
        .map(reason -> gpu.withHealth(gpu.health().afterFailedProbe(reason)))
        .orElse(gpu);
  }

  private Map<String, GpuSharing> planned() {
    return plan == null ? Map.of() : plan.byUuid();
  }

  private Optional<String> obstacle(GpuInfo gpu) {
    GpuSharing how = planned().get(gpu.uuid());
    return how != null
            && how.strategy() == SharingStrategy.MPS
            && mps instanceof MpsAvailability.Lost lost
        ? Optional.of(lost.reason())
        : limitObstacle(gpu)
            .map(why -> "memoryLimits is required, and its memory cannot be limited: " + why);
  }

  private Optional<String> limitObstacle(GpuInfo gpu) {
    GpuSharing how = planned().get(gpu.uuid());
    return how == null || !how.takesLimits(gpu)
        ? Optional.empty()
        : hardware.get().limits().obstacle(gpu);
  }

  /** Returns the limits that containers should have; none where limits are not required. */
  List<ExpectedLimit> expectedLimits() {
    NodeLimits limits = hardware.get().limits();
    return limits.required()
        ? ExpectedLimits.of(
            holdingsByReplicas(),
            gpus(),
            replicas().map(NodeReplicas::sharing).orElse(Map.of()),
            limits,
            held)
        : List.of();
  }

  /** Returns the limits of running containers, as last read back. */
  List<ContainerLimit> containerLimits() {
    return hardware.get().containerLimits();
  }

  /** Returns which GPUs take no shares, since their memory cannot be limited. */
  Optional<NodeProblem> limitProblem() {
    Map<String, String> reasons = new LinkedHashMap<>();
    for (GpuInfo gpu : infos(gpus())) {
      limitObstacle(gpu).ifPresent(why -> reasons.put(gpu.uuid(), why));
    }
    return NodeProblem.of(
        NodeProblem.Reason.GPU_MEMORY_NOT_LIMITED,
        reasons.size(),
        () ->
            "memoryLimits is required, and %s cannot be limited, so no share of it is offered: %s"
                .formatted(
                    String.join(", ", reasons.keySet()),
                    String.join("; ", new LinkedHashSet<>(reasons.values()))));
  }

  /** Returns the MPS control daemons that the config needs; empty before the first plan. */
  Optional<MpsPlan> mpsPlan(boolean standAlone) {
    return Optional.ofNullable(plan)
        .map(fits -> MpsPlan.of(fits.byUuid(), infos(gpus()), standAlone));
  }

  /**
   * Returns what of it must serve for replicas to be offered: a daemon need not serve a lost GPU.
   * If all GPUs are lost, all daemons are still needed.
   */
  MpsPlan requiredMps(boolean standAlone) {
    if (plan == null) {
      return MpsPlan.NONE;
    }
    List<GpuStatus> present =
        gpus().stream().filter(gpu -> !(gpu.health() instanceof Health.Lost)).toList();
    MpsPlan required = MpsPlan.of(plan.byUuid(), infos(present), standAlone);
    return required.needed() ? required : mpsPlan(standAlone).orElse(required);
  }

  void mps(MpsAvailability now) {
    mps = now;
  }

  MpsAvailability mps() {
    return mps;
  }

  boolean gpusKnown() {
    return gpus != null;
  }

  void driverAwaited(String reason) {
    driverAwaited = reason;
  }

  /** Returns why this node has nothing to serve; empty if it has, or if that is not known yet. */
  Optional<String> idleReason() {
    if (gpus == null) {
      return driverAwaited.isEmpty()
          ? Optional.empty()
          : Optional.of("this node waits for a driver: " + driverAwaited);
    }
    if (gpus.isEmpty()) {
      return Optional.of("there is no usable GPU on this node, so there is nothing to advertise");
    }
    return plan == null || !plan.byUuid().isEmpty()
        ? Optional.empty()
        : Optional.of(
            "the config yields no device for the GPUs of this node, so there is nothing to"
                + " advertise: with MIG enabled, create MIG devices (nvidia-smi mig -cgi) or set"
                + " migStrategy to none");
  }

  boolean configKnown() {
    return config != null;
  }

  /**
   * Returns the replicas; empty until both the GPUs and a config that fits them are known. Returns
   * the same object until something changes: there may be thousands.
   */
  Optional<NodeReplicas> replicas() {
    if (gpus == null || config == null || plan == null) {
      return Optional.empty();
    }
    if (mps instanceof MpsAvailability.Awaited) {
      return Optional.ofNullable(replicas);
    }
    List<GpuStatus> advertised = advertisedGpus();
    Map<String, GpuSharing> sharing =
        mps instanceof MpsAvailability.Missing
            ? MpsPlan.withoutMps(plan.byUuid(), config.config(), infos(advertised))
            : plan.byUuid();
    List<Object> inputs = inputs(config.config(), sharing, advertised);
    if (replicas == null || !inputs.equals(replicasInputs)) {
      replicasInputs = inputs;
      replicas = NodeReplicas.of(config.config(), advertised, sharing, held.all());
    }
    return Optional.of(replicas);
  }

  private List<Object> inputs(
      Config config, Map<String, GpuSharing> sharing, List<GpuStatus> gpus) {
    List<Object> parts = new ArrayList<>(List.of(config, sharing, held.all()));
    gpus.forEach(gpu -> parts.addAll(List.of(gpu.info(), gpu.health().healthy())));
    return parts;
  }

  /** Replicas that containers hold. */
  HeldReplicas held() {
    return held;
  }

  /** Sets the holdings and returns whether they changed. */
  boolean holdings(List<Holding> now) {
    boolean changed = !now.equals(holdings);
    holdings = now;
    return changed;
  }

  /**
   * Updates the held replicas from these holdings and returns whether they changed.
   *
   * @param complete whether replicas that are missing in the holdings are free
   */
  boolean held(List<Holding> now, boolean complete, long nowMs) {
    return plan != null && held.update(now, complete, plan.byUuid(), nowMs);
  }

  private List<Holding> holdings() {
    return holdings == null ? List.of() : holdings;
  }

  /** Returns the holdings with the replicas per GPU that they were granted in. */
  List<Holding> holdingsByReplicas() {
    return held.byReplicas(holdings(), planned());
  }

  /** Returns what init containers have left to their pods; the kubelet's list leaves it out. */
  List<Holding> leftByInits() {
    return held.leftByInits(holdings());
  }

  boolean holdingsKnown() {
    return holdings != null;
  }
}
